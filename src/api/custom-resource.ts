import type { Resource } from './meta.ts';
import type { JsonSchema } from './structural-schema.ts';

/** CustomResourceDefinitions of one served version with a status (kubernetes.io, CustomResourceDefinitions). */

interface Column {
  name: string;
  type: string;
  jsonPath: string;
  /** 0: always printed; 1: with `-o wide`. */
  priority: number;
}

/** Returns a column of `kubectl get`. */
export const column = (name: string, type: string, jsonPath: string, priority = 0): Column => ({
  name,
  type,
  jsonPath,
  priority,
});
export const AGE = column('Age', 'date', '.metadata.creationTimestamp');

interface Definition {
  resource: Resource;
  shortName: string;
  columns: readonly Column[];
  spec: JsonSchema;
  status: JsonSchema;
  /** CEL rules for the object as a whole. */
  rules?: readonly object[] | undefined;
}

/**
 * Returns the annotation for groups under k8s.io: these are reserved for Kubernetes unless the CRD states that it is
 * unapproved (kubernetes/enhancements 1111).
 */
const approval = (group: string) =>
  group.endsWith('.k8s.io')
    ? { annotations: { 'api-approved.kubernetes.io': 'unapproved, named by clients that were there before' } }
    : {};

export const definitionOf = (definition: Definition): JsonSchema => {
  const { resource, shortName, columns, spec, status, rules } = definition;
  const { group, version, kind, plural } = resource;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, ...approval(group) },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, listKind: `${kind}List`, singular: kind.toLowerCase(), shortNames: [shortName] },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: columns,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              required: ['spec'],
              properties: {
                apiVersion: { type: 'string' },
                kind: { type: 'string' },
                metadata: { type: 'object' },
                spec,
                status,
              },
              ...(rules ? { 'x-kubernetes-validations': rules } : {}),
            },
          },
        },
      ],
    },
  };
};
