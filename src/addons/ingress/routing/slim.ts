import type { Secret, Service } from '#api/core.ts';
import type { ObjectMeta } from '#api/meta.ts';
import { type EndpointSlice, type Ingress, SERVICE_NAME_LABEL } from '#api/networking.ts';
import { SETTINGS_PREFIX } from './settings.ts';

/** Returns the metadata that caches keep. A cluster may have thousands of objects, with much that routes do not need. */
export const slim = ({ namespace, name, uid, resourceVersion }: ObjectMeta): ObjectMeta => ({
  ...(namespace === undefined ? {} : { namespace }),
  ...(name === undefined ? {} : { name }),
  ...(uid === undefined ? {} : { uid }),
  ...(resourceVersion === undefined ? {} : { resourceVersion }),
});

export const slimService = ({ metadata, spec }: Service): Service => ({
  metadata: slim(metadata),
  spec: { type: spec?.type, ports: spec?.ports },
});

export const slimSlice = ({ metadata, addressType, endpoints, ports }: EndpointSlice): EndpointSlice => ({
  metadata: { ...slim(metadata), labels: { [SERVICE_NAME_LABEL]: serviceOf(metadata) } },
  addressType,
  endpoints: (endpoints ?? []).map(({ addresses, conditions = {} }) => ({ addresses, conditions })),
  ports: ports ?? [],
});

const serviceOf = ({ labels }: ObjectMeta): string => labels?.[SERVICE_NAME_LABEL] ?? '';

/** Index of EndpointSlices by Service. */
export const BY_SERVICE = 'service';
export const sliceKey = (namespace: string, service: string): string => `${namespace}/${service}`;
export const slicesByService = {
  [BY_SERVICE]: ({ metadata }: EndpointSlice): string[] => [
    sliceKey(metadata.namespace ?? '', serviceOf(metadata)),
  ],
};

/** Selects certificate Secrets only. RBAC cannot: the right to list them covers all Secrets. */
export const TLS_SECRETS = { fieldSelector: 'type=kubernetes.io/tls' } as const;

export const slimPair = ({ metadata, data = {} }: Secret): Secret => ({
  metadata: slim(metadata),
  data: Object.fromEntries(
    ['tls.crt', 'tls.key'].flatMap((key) => (data[key] === undefined ? [] : [[key, data[key]]])),
  ),
});

/** Drops managedFields, which are half of the object. */
export const slimIngress = ({ apiVersion, kind, metadata, spec, status }: Ingress): Ingress => {
  const { annotations, creationTimestamp, generation } = metadata;
  const read = Object.entries(annotations ?? {}).filter(
    ([name]) => name === 'kubernetes.io/ingress.class' || name.startsWith(SETTINGS_PREFIX),
  );
  return {
    ...(apiVersion === undefined ? {} : { apiVersion }),
    ...(kind === undefined ? {} : { kind }),
    metadata: {
      ...slim(metadata),
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      ...(generation === undefined ? {} : { generation }),
      ...(read.length === 0 ? {} : { annotations: Object.fromEntries(read) }),
    },
    ...(spec === undefined ? {} : { spec }),
    ...(status === undefined ? {} : { status }),
  };
};
