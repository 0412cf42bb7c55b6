/** The operations of the contract; `src/operations/index.ts` lists the offered ones. */
export const OPERATION_NAMES = [
  'create',
  'scale-up',
  'scale-down',
  'delete',
  'update',
  'rollback',
  'snapshot',
  'restore',
  'renew',
  'rotate',
  'reconfigure',
  'relabel',
  'replace',
  'move-etcd',
  'repair',
] as const;
export type OperationName = (typeof OPERATION_NAMES)[number];

/** The values of the operation annotation `app.kubernetes.io/operation` for one operation. */
export interface OperationValues {
  asked: string;
  finished: string;
  failed: string;
  cancelled: string;
}

const valuesOf = (asked: string, stem: string): OperationValues => ({
  asked,
  finished: `${stem}-finished`,
  failed: `${stem}-failed`,
  cancelled: `${stem}-cancelled`,
});

export const OPERATION_VALUES: Record<OperationName, OperationValues> = {
  create: valuesOf('creating', 'create'),
  'scale-up': valuesOf('scaling-up', 'scale-up'),
  'scale-down': valuesOf('scaling-down', 'scale-down'),
  delete: valuesOf('terminating', 'terminate'),
  update: valuesOf('updating', 'update'),
  rollback: valuesOf('rollbacking', 'rollback'),
  snapshot: valuesOf('snapshotting', 'snapshot'),
  restore: valuesOf('restoring', 'restore'),
  renew: valuesOf('renewing', 'renew'),
  rotate: valuesOf('rotating', 'rotate'),
  reconfigure: valuesOf('reconfiguring', 'reconfigure'),
  relabel: valuesOf('relabeling', 'relabel'),
  replace: valuesOf('replacing', 'replace'),
  'move-etcd': valuesOf('moving-etcd', 'move-etcd'),
  repair: valuesOf('repairing', 'repair'),
};

const ASKED = new Map(OPERATION_NAMES.map((name) => [OPERATION_VALUES[name].asked, name]));
const RESULT_VALUES = new Set(
  OPERATION_NAMES.flatMap((name) => [
    OPERATION_VALUES[name].finished,
    OPERATION_VALUES[name].failed,
    OPERATION_VALUES[name].cancelled,
  ]),
);

/** Returns the operation that an annotation value requests; undefined for results and for anything else. */
export const operationAsked = (value: string | undefined): OperationName | undefined =>
  value === undefined ? undefined : ASKED.get(value);

/** Whether only the controller may write this value. */
export const isResultValue = (value: string | undefined): boolean =>
  value !== undefined && RESULT_VALUES.has(value);

/** Returns the value of the operation annotation, unless it is a result or empty. */
export const requestedValue = (value: string | undefined): string | undefined =>
  value === undefined || value === '' || isResultValue(value) ? undefined : value;

export const ALL_OPERATION_VALUES: readonly string[] = [...ASKED.keys(), ...RESULT_VALUES];

export const PHASES = [
  '',
  'Prechecking',
  'Creating',
  'Scaling',
  'Running',
  'Failed',
  'Terminating',
  'Updating',
  'Maintaining',
] as const;
export type Phase = (typeof PHASES)[number];

/** Results of a dry run: it is still checking, the operation would begin, or it would be refused. */
export const PLAN_RESULTS = ['Checking', 'Possible', 'Refused'] as const;

export const RESULTS = ['finished', 'failed', 'cancelled'] as const;
export type Result = (typeof RESULTS)[number];
