import type { Secret, Service } from '#api/core.ts';
import type { ObjectMeta } from '#api/meta.ts';
import { type EndpointSlice, type Ingress, SERVICE_NAME_LABEL } from '#api/networking.ts';
import { SETTINGS_PREFIX } from './settings.ts';

/** What caches keep of objects: there may be thousands, and each has much that routes do not ask for. */
const slim = ({ namespace, name, uid, resourceVersion }: ObjectMeta): ObjectMeta => ({
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

/** Index of EndpointSlices: the Service, by its key in this index. */
export const BY_SERVICE = 'service';
export const sliceKey = (namespace: string, service: string): string => `${namespace}/${service}`;
export const slicesByService = {
  [BY_SERVICE]: ({ metadata }: EndpointSlice): string[] => [
    sliceKey(metadata.namespace ?? '', serviceOf(metadata)),
  ],
};

/** Secrets of certificates alone; the right to list them is one to all Secrets all the same. */
export const TLS_SECRETS = { fieldSelector: 'type=kubernetes.io/tls' } as const;

export const slimPair = ({ metadata, data = {} }: Secret): Secret => ({
  metadata: slim(metadata),
  data: Object.fromEntries(
    ['tls.crt', 'tls.key'].flatMap((key) => (data[key] === undefined ? [] : [[key, data[key]]])),
  ),
});

/** Without the fields that others manage, which are half of it. */
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
