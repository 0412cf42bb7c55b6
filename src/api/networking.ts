import type { KubeObject, Resource } from './meta.ts';

/** Kubernetes kinds that route requests to pods, with the fields that are used. */
export const INGRESSES: Resource = {
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'Ingress',
  plural: 'ingresses',
  namespaced: true,
};
export const INGRESS_CLASSES: Resource = {
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'IngressClass',
  plural: 'ingressclasses',
  namespaced: false,
};
export const ENDPOINT_SLICES: Resource = {
  group: 'discovery.k8s.io',
  version: 'v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  namespaced: true,
};

/** Label of an EndpointSlice with the name of its Service. */
export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';

export interface IngressBackend {
  service?: { name: string; port?: { number?: number; name?: string } };
  resource?: { kind: string; name: string };
}
export interface IngressPath {
  path?: string;
  pathType: string;
  backend: IngressBackend;
}
export interface IngressRule {
  host?: string;
  http?: { paths: IngressPath[] };
}
export interface IngressAddress {
  ip?: string;
  hostname?: string;
}
export interface Ingress extends KubeObject {
  spec?: {
    ingressClassName?: string;
    defaultBackend?: IngressBackend;
    tls?: { hosts?: string[]; secretName?: string }[];
    rules?: IngressRule[];
  };
  status?: { loadBalancer?: { ingress?: IngressAddress[] } };
}

export interface IngressClass extends KubeObject {
  spec?: { controller?: string };
}

export interface EndpointSlice extends KubeObject {
  addressType: string;
  endpoints?:
    | {
        addresses: string[];
        conditions?: { ready?: boolean; serving?: boolean; terminating?: boolean };
      }[]
    | null;
  ports?: { name?: string; port?: number; protocol?: string; appProtocol?: string }[] | null;
}
