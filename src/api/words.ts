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
  'relabel',
  'replace',
  'move-etcd',
  'repair',
] as const;
export type OperationName = (typeof OPERATION_NAMES)[number];

/** The values of the operation annotation `app.kubernetes.io/operation` for one operation. */
export interface Words {
  asked: string;
  finished: string;
  failed: string;
  cancelled: string;
}

const words = (asked: string, stem: string): Words => ({
  asked,
  finished: `${stem}-finished`,
  failed: `${stem}-failed`,
  cancelled: `${stem}-cancelled`,
});

export const WORDS: Record<OperationName, Words> = {
  create: words('creating', 'create'),
  'scale-up': words('scaling-up', 'scale-up'),
  'scale-down': words('scaling-down', 'scale-down'),
  delete: words('terminating', 'terminate'),
  update: words('updating', 'update'),
  rollback: words('rollbacking', 'rollback'),
  snapshot: words('snapshotting', 'snapshot'),
  restore: words('restoring', 'restore'),
  renew: words('renewing', 'renew'),
  relabel: words('relabeling', 'relabel'),
  replace: words('replacing', 'replace'),
  'move-etcd': words('moving-etcd', 'move-etcd'),
  repair: words('repairing', 'repair'),
};

const ASKED = new Map(OPERATION_NAMES.map((name) => [WORDS[name].asked, name]));
const RESULT_WORDS = new Set(
  OPERATION_NAMES.flatMap((name) => [WORDS[name].finished, WORDS[name].failed, WORDS[name].cancelled]),
);

/** Returns the operation that an annotation value requests; undefined for results and for anything else. */
export const operationAsked = (word: string | undefined): OperationName | undefined =>
  word === undefined ? undefined : ASKED.get(word);

/** Whether only the controller may write this value. */
export const isResultWord = (word: string | undefined): boolean =>
  word !== undefined && RESULT_WORDS.has(word);

/** Returns the value of the operation annotation, unless it is a result or empty. */
export const askedWord = (word: string | undefined): string | undefined =>
  word === undefined || word === '' || isResultWord(word) ? undefined : word;

export const ALL_WORDS: readonly string[] = [...ASKED.keys(), ...RESULT_WORDS];

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
