import type { KubeObject, Resource } from '#api/meta.ts';

/** The kind that both controllers reconcile; bench/peer-go has the same. */
export interface Sample extends KubeObject {
  spec: { text: string };
  status?: { observed?: number };
}

export const SAMPLES: Resource = {
  group: 'bench.example.com',
  version: 'v1',
  kind: 'Sample',
  plural: 'samples',
  namespaced: true,
};

export const FINALIZER = 'bench.example.com/sample';

export const sampleCrd: KubeObject & { spec: unknown } = {
  metadata: { name: `${SAMPLES.plural}.${SAMPLES.group}` },
  spec: {
    group: SAMPLES.group,
    scope: 'Namespaced',
    names: { kind: SAMPLES.kind, plural: SAMPLES.plural },
    versions: [
      {
        name: SAMPLES.version,
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { text: { type: 'string' } } },
              status: {
                type: 'object',
                properties: { observed: { type: 'integer', format: 'int64' } },
              },
            },
          },
        },
      },
    ],
  },
};
