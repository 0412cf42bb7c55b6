import { type Cluster, conditionOf, pathOf } from './cluster.ts';
import { at } from './json.ts';
import { titleOf } from './operation-titles.ts';
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
  kind: OperationKind;
  /** Its name in the API. */
  operation: string;
  /** Fields that come first. */
  first: readonly string[];
  /** Returns what the form begins with. Default: it is empty. */
  initial?: (cluster: Cluster) => Values;
  /** Whether the request replaces all that the form begins with. */
  isWhole?: true;
  /** What the user does first. There is no plan of a form as it begins. */
  needsChange?: string;
  /** What is lost for good; the user types the name of the cluster below it. */
  warning?: string;
  /** Returns the values from which fields are chosen. */
  choices?: (cluster: Cluster) => Request['choices'];
}

const presentHosts = ({ spec: { cluster } }: Cluster): Values =>
  Object.fromEntries(LISTS.flatMap((list) => (cluster[list] ? [[list, cluster[list]]] : [])));

const present = (values: Values): Values =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

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

const FORMS: readonly Form[] = [
  {
    kind: 'scaleUp',
    operation: 'scale-up',
    first: ['nodeList', 'masterList'],
    initial: presentHosts,
    isWhole: true,
    needsChange: 'Add a line for each new host.',
  },
  {
    kind: 'scaleDown',
    operation: 'scale-down',
    first: ['nodeList', 'masterList'],
    initial: presentHosts,
    isWhole: true,
    needsChange: 'Remove the lines of hosts that leave.',
  },
  { kind: 'replace', operation: 'replace', first: ['from', 'to'] },
  { kind: 'update', operation: 'update', first: ['kubeVersion'] },
  {
    kind: 'reconfigure',
    operation: 'reconfigure',
    first: ['kubeadm', 'network'],
    // The request takes all settings, so those that are left out would be set back.
    initial: (cluster) => present({ kubeadm: kubeadmOf(cluster), network: cluster.spec.addons?.network }),
    isWhole: true,
  },
  { kind: 'renew', operation: 'renew', first: [] },
  { kind: 'rotate', operation: 'rotate', first: [] },
  { kind: 'repair', operation: 'repair', first: [] },
  { kind: 'snapshot', operation: 'snapshot', first: [] },
  {
    kind: 'restore',
    operation: 'restore',
    first: ['snapshot', 'confirmDataLossSince'],
    initial: ({ status }) => present({ snapshot: status?.etcdSnapshots?.stored?.[0]?.name }),
    warning: SINCE_SNAPSHOT,
    choices: ({ status }) => ({ snapshot: (status?.etcdSnapshots?.stored ?? []).map(({ name }) => name) }),
  },
  { kind: 'rollback', operation: 'rollback', first: [] },
];

/** The forms that a cluster offers, in the order of the menu. */
export const CHANGES = FORMS.map(({ kind, operation }) => ({ kind, title: titleOf(operation) }));

/** Routes of operations whose names differ from them. */
const ROUTES: Readonly<Record<string, string>> = {
  create: '',
  'scale-up': '/scaleup',
  'scale-down': '/scaledown',
  'move-etcd': '/etcd/move',
};
const routeOf = (operation: string): string => ROUTES[operation] ?? `/${operation}`;

export interface Request {
  title: string;
  method: 'POST' | 'DELETE';
  path: string;
  /** OperationId of the schema; undefined: there are no fields. */
  schema: string | undefined;
  first: readonly string[];
  initial: Values;
  /** What the request replaces as a whole. */
  replaces?: Values | undefined;
  needsChange?: string | undefined;
  warning?: string | undefined;
  choices?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** Returns the request of a form, with what it begins with. */
export function requestOf(kind: OperationKind, cluster: Cluster): Request {
  const path = pathOf(cluster);
  if (kind === 'delete')
    return {
      title: titleOf('delete'),
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
      title: `Retry: ${titleOf(failed)}`,
      method: isDeletion ? 'DELETE' : 'POST',
      path: isDeletion ? path : `${path}${routeOf(failed)}`,
      schema: undefined,
      first: [],
      initial: { retry: true },
      warning: isDeletion ? ALL_DATA : failed === 'restore' ? SINCE_SNAPSHOT : undefined,
    };
  }
  const form = FORMS.find((one) => one.kind === kind);
  if (!form) throw new Error(`There is no form for ${kind}.`);
  const { operation, first, initial = () => ({}), isWhole, needsChange, warning, choices } = form;
  const begins = initial(cluster);
  // The spec has the new lists already. The request confirms them.
  const isEdited = conditionOf(cluster, 'Stalled')?.reason === 'NeedsConfirmation';
  return {
    title: titleOf(operation),
    method: 'POST',
    path: `${path}${routeOf(operation)}`,
    schema: kind,
    first,
    initial: begins,
    replaces: isWhole && begins,
    needsChange: isEdited ? undefined : needsChange,
    warning,
    choices: choices?.(cluster),
  };
}
