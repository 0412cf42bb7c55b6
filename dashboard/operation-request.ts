import { type Cluster, pathOf } from './cluster.ts';
import type { Values } from './schema-form.tsx';

/** Requests for operations, and the fields of their forms. */

export type OperationKind =
  | 'scaleUp'
  | 'scaleDown'
  | 'replace'
  | 'update'
  | 'reconfigure'
  | 'renew'
  | 'rotate'
  | 'repair'
  | 'snapshot'
  | 'restore'
  | 'rollback'
  | 'retry'
  | 'delete';

const LISTS = ['masterList', 'nodeList', 'etcdList'] as const;

const ALL_DATA = 'All hosts are reset, with all data of the cluster.';
const SINCE_SNAPSHOT = 'Everything that was written to the API of the cluster since the snapshot is lost.';

interface Form {
  title: string;
  route: string;
  /** Fields that come first. */
  first: readonly string[];
  /** Returns what the form begins with. Default: it is empty. */
  initial?: (cluster: Cluster) => Values;
  /** What is lost for good; the user types the name of the cluster below it. */
  warning?: string;
  /** Returns the values from which fields are chosen. */
  choices?: (cluster: Cluster) => Request['choices'];
}

const presentHosts = ({ spec: { cluster } }: Cluster): Values =>
  Object.fromEntries(LISTS.flatMap((list) => (cluster[list] ? [[list, cluster[list]]] : [])));

const present = (values: Values): Values =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
const at = (value: unknown, key: string): unknown => (isRecord(value) ? value[key] : undefined);

/** Returns the settings that the cluster has. A spec without them leaves those as they are that were applied last. */
function kubeadmOf({ spec, metadata }: Cluster): unknown {
  if (spec.cluster.kubeadm !== undefined) return spec.cluster.kubeadm;
  try {
    const applied: unknown = JSON.parse(metadata.annotations?.['ecs.yun.com/applied'] ?? '{}');
    return at(at(at(applied, 'spec'), 'cluster'), 'kubeadm');
  } catch {
    return undefined;
  }
}

const FORMS: Readonly<Record<Exclude<OperationKind, 'retry' | 'delete'>, Form>> = {
  scaleUp: { title: 'Add hosts', route: 'scaleup', first: ['nodeList', 'masterList'], initial: presentHosts },
  scaleDown: {
    title: 'Remove hosts',
    route: 'scaledown',
    first: ['nodeList', 'masterList'],
    initial: presentHosts,
  },
  replace: { title: 'Replace a host', route: 'replace', first: ['from', 'to'] },
  update: { title: 'Upgrade Kubernetes', route: 'update', first: ['kubeVersion'] },
  reconfigure: {
    title: 'Change settings',
    route: 'reconfigure',
    first: ['kubeadm', 'network'],
    // The request takes all settings, so those that are left out would be set back.
    initial: (cluster) => present({ kubeadm: kubeadmOf(cluster), network: cluster.spec.addons?.network }),
  },
  renew: { title: 'Renew certificates', route: 'renew', first: [] },
  rotate: { title: 'Rotate keys', route: 'rotate', first: [] },
  repair: { title: 'Repair hosts', route: 'repair', first: [] },
  snapshot: { title: 'Save a snapshot of etcd', route: 'snapshot', first: [] },
  restore: {
    title: 'Restore a snapshot',
    route: 'restore',
    first: ['snapshot', 'confirmDataLossSince'],
    initial: ({ status }) => present({ snapshot: status?.etcdSnapshots?.stored?.[0]?.name }),
    warning: SINCE_SNAPSHOT,
    choices: ({ status }) => ({ snapshot: (status?.etcdSnapshots?.stored ?? []).map(({ name }) => name) }),
  },
  rollback: { title: 'Undo an unfinished upgrade', route: 'rollback', first: [] },
};

/** Routes of operations by their names in status, for a retry. */
const ROUTES: Readonly<Record<string, string>> = {
  create: '',
  'scale-up': '/scaleup',
  'scale-down': '/scaledown',
  'move-etcd': '/etcd/move',
};

export interface Request {
  title: string;
  method: 'POST' | 'DELETE';
  path: string;
  /** OperationId of the schema; undefined: there are no fields. */
  schema: string | undefined;
  first: readonly string[];
  initial: Values;
  warning?: string | undefined;
  choices?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** Returns the request of a form, with what it begins with. */
export function requestOf(kind: OperationKind, cluster: Cluster): Request {
  const path = pathOf(cluster);
  if (kind === 'delete')
    return {
      title: 'Delete the cluster',
      method: 'DELETE',
      path,
      schema: undefined,
      first: [],
      initial: {},
      warning: ALL_DATA,
    };
  if (kind === 'retry') {
    const failed = cluster.status?.operation?.name ?? '';
    const isDeletion = failed === 'delete';
    return {
      title: `Retry ${failed}`,
      method: isDeletion ? 'DELETE' : 'POST',
      path: isDeletion ? path : `${path}${ROUTES[failed] ?? `/${failed}`}`,
      schema: undefined,
      first: [],
      initial: { retry: true },
      warning: isDeletion ? ALL_DATA : failed === 'restore' ? SINCE_SNAPSHOT : undefined,
    };
  }
  const { title, route, first, initial = () => ({}), warning, choices } = FORMS[kind];
  return {
    title,
    method: 'POST',
    path: `${path}/${route}`,
    schema: kind,
    first,
    initial: initial(cluster),
    warning,
    choices: choices?.(cluster),
  };
}
