import type { KubeObject, Resource } from './meta.ts';

/** The core kinds that several folders use, with the fields that are used. */
const core = (kind: string, plural: string): Resource => ({
  group: '',
  version: 'v1',
  kind,
  plural,
  namespaced: true,
});

export const SECRETS = core('Secret', 'secrets');
export const CONFIG_MAPS = core('ConfigMap', 'configmaps');
export const PODS = core('Pod', 'pods');
export const EVENTS = core('Event', 'events');
export const SERVICES = core('Service', 'services');
export const VOLUME_CLAIMS = core('PersistentVolumeClaim', 'persistentvolumeclaims');
export const NODES: Resource = { ...core('Node', 'nodes'), namespaced: false };
export const JOBS: Resource = {
  group: 'batch',
  version: 'v1',
  kind: 'Job',
  plural: 'jobs',
  namespaced: true,
};
export const LEASES: Resource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
};

export interface Secret extends KubeObject {
  type?: string;
  data?: Record<string, string>;
  immutable?: boolean;
}

export interface Event extends KubeObject {
  type?: string;
  lastTimestamp?: string;
  reason?: string;
  message?: string;
}

export interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
  /** Base64. */
  binaryData?: Record<string, string>;
  immutable?: boolean;
}

export interface Job extends KubeObject {
  spec?: unknown;
  status?: {
    active?: number;
    failed?: number;
    succeeded?: number;
    startTime?: string;
    completionTime?: string;
    conditions?: {
      type: string;
      status: string;
      reason?: string;
      message?: string;
      lastTransitionTime?: string;
    }[];
  };
}

export interface Pod extends KubeObject {
  spec?: { nodeName?: string };
  status?: {
    phase?: string;
    podIP?: string;
    reason?: string;
    message?: string;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
    containerStatuses?: {
      name: string;
      state?: {
        terminated?: { exitCode: number; reason?: string; message?: string; finishedAt?: string };
        waiting?: { reason?: string; message?: string };
      };
    }[];
  };
}

/** Returns the text of a key of a Secret; undefined if the key is absent. */
export function secretText(secret: Secret | undefined, key: string): string | undefined {
  const value = secret?.data?.[key];
  return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8');
}

/**
 * Returns the password of a Secret as Ansible reads it: without surrounding white space, since files often end with a
 * newline.
 */
export const secretPassword = (secret: Secret | undefined): string | undefined =>
  secretText(secret, 'password')?.replace(/^[ \t-\r]+|[ \t-\r]+$/g, '') || undefined;

/** Returns `data` of a Secret from texts; absent texts are left out. */
export function secretData(texts: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(texts).flatMap(([key, text]) =>
      text === undefined ? [] : [[key, Buffer.from(text, 'utf8').toString('base64')]],
    ),
  );
}

/** A node; only its name and labels are used. */
export type Node = KubeObject;

export interface ServicePort {
  name?: string | undefined;
  protocol?: string | undefined;
  appProtocol?: string | undefined;
  port: number;
  targetPort?: number | string | undefined;
  nodePort?: number | undefined;
}

export interface Service extends KubeObject {
  spec?: {
    selector?: Record<string, string> | undefined;
    ports?: ServicePort[] | undefined;
    type?: string | undefined;
    clusterIP?: string | undefined;
    sessionAffinity?: string | undefined;
    sessionAffinityConfig?: unknown;
    publishNotReadyAddresses?: boolean | undefined;
    internalTrafficPolicy?: string | undefined;
    externalTrafficPolicy?: string | undefined;
    trafficDistribution?: string | undefined;
    ipFamilies?: string[] | undefined;
    ipFamilyPolicy?: string | undefined;
    allocateLoadBalancerNodePorts?: boolean | undefined;
    loadBalancerClass?: string | undefined;
    loadBalancerSourceRanges?: string[] | undefined;
    externalIPs?: string[] | undefined;
  };
  status?: unknown;
}
