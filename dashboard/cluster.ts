/** Clusters as the page reads them. Fields that an older server does not have are absent. */

import { isRecord } from './json.ts';

export interface Host {
  ip: string;
  name?: string;
  labels?: Record<string, string>;
}

export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  lastTransitionTime: string;
}

export interface Operation {
  id: string;
  name: string;
  requestId: string;
  step: string;
  startedAt: string;
  endedAt?: string;
  requestedBy?: string;
  result?: string;
}

export interface Cluster {
  metadata: {
    name: string;
    namespace: string;
    uid: string;
    creationTimestamp?: string;
    deletionTimestamp?: string;
    annotations?: Record<string, string>;
  };
  spec: {
    paused?: boolean;
    cluster: {
      region?: string;
      kubeVersion?: string;
      masterList?: Host[];
      nodeList?: Host[];
      etcdList?: Host[];
      kubeadm?: unknown;
    };
    addons?: { network?: string };
  };
  status?: {
    phase?: string;
    summary?: string;
    message?: string;
    version?: string;
    certificatesExpire?: string;
    nodes?: { ready: number; total: number };
    conditions?: Condition[];
    hosts?: { ip: string; state: string; message?: string }[];
    operation?: Operation;
    etcdSnapshots?: { stored?: { name: string; createdAt: string }[] };
  };
}

/** Whether the data of an event are a cluster. */
export function isCluster(value: unknown): value is Cluster {
  if (!isRecord(value) || !isRecord(value['metadata']) || !isRecord(value['spec'])) return false;
  return typeof value['metadata']['name'] === 'string' && isRecord(value['spec']['cluster']);
}

export const keyOf = ({ metadata: { namespace, name } }: Cluster): string => `${namespace}/${name}`;
export const regionOf = ({ spec }: Cluster): string => spec.cluster.region ?? 'default';

/** Returns the path of a cluster in the REST API. */
export const pathOf = (cluster: Cluster): string =>
  `/region/${encodeURIComponent(regionOf(cluster))}/cluster/${cluster.metadata.name}`;

export const conditionOf = ({ status }: Cluster, type: string): Condition | undefined =>
  status?.conditions?.find((condition) => condition.type === type);

/** Returns the operation that runs. */
export const runningOf = ({ status }: Cluster): Operation | undefined =>
  status?.operation && status.operation.result === undefined ? status.operation : undefined;

export type Health = 'good' | 'busy' | 'bad' | 'unknown';

/** Returns the state of a cluster in one word, for its colour. */
export function healthOf(cluster: Cluster): Health {
  if (conditionOf(cluster, 'Stalled')?.status === 'True') return 'bad';
  if (runningOf(cluster) || conditionOf(cluster, 'Reconciling')?.status === 'True') return 'busy';
  const ready = conditionOf(cluster, 'Ready')?.status;
  if (ready === 'False') return 'bad';
  const failing = cluster.status?.conditions?.some(
    ({ type, status }) => status === 'False' && /Healthy|Reachable|Valid|AsMade|Current/.test(type),
  );
  if (failing) return 'bad';
  return ready === 'True' ? 'good' : 'unknown';
}

/** Returns an address as the server writes it: an IPv6 one short (RFC 5952). */
function canonical(ip: string): string {
  try {
    return ip.includes(':') ? new URL(`http://[${ip}]`).hostname.slice(1, -1) : ip;
  } catch {
    return ip;
  }
}

export interface HostView {
  ip: string;
  name: string;
  duties: string[];
  state: string;
  message?: string;
}

/** Returns the hosts that the spec names, each once, with its duties. */
export function hostsOf({ spec: { cluster }, status }: Cluster): HostView[] {
  const found = new Map<string, HostView>();
  const add = (hosts: readonly Host[] | undefined, duty: string): void => {
    for (const { ip: text, name } of hosts ?? []) {
      const ip = canonical(text);
      const known = found.get(ip) ?? {
        ip,
        name: name ?? `host-${ip.replaceAll('.', '-')}`,
        duties: [],
        state: '',
      };
      known.duties.push(duty);
      found.set(ip, known);
    }
  };
  add(cluster.masterList, 'control plane');
  add(cluster.etcdList, 'etcd');
  add(cluster.nodeList, 'worker');
  for (const { ip, state, message } of status?.hosts ?? []) {
    const host = found.get(ip);
    if (host) Object.assign(host, { state, ...(message === undefined ? {} : { message }) });
  }
  return [...found.values()];
}
