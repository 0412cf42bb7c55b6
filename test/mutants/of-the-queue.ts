import type { Mutant, Witness } from './mutant.ts';

const QUEUE = 'src/controller/cluster/queue';
const unit = (file: string, test: string): Witness => ({ project: 'unit', file, test });
const ofQueue = (test: string) => unit(`${QUEUE}/fleet-queue.test.ts`, test);

/** Number of operations at once, and their order. */
export const ofTheQueue: readonly Mutant[] = [
  {
    name: 'one operation more than may run',
    file: `${QUEUE}/fleet-queue.ts`,
    from: 'const free = most - counts.held;',
    to: 'const free = most + 1 - counts.held;',
    witness: ofQueue('starts no more than allowed, and each one in the end: seed'),
  },
  {
    name: 'what may begin and has not holds no place',
    file: `${QUEUE}/fleet-queue.ts`,
    from: "entry.state === 'let' || entry.state === 'running'",
    to: "entry.state === 'running'",
    witness: ofQueue('starts no more than allowed, and each one in the end: seed'),
  },
  {
    name: 'an attempt after a lost one waits',
    file: `${QUEUE}/fleet-queue.ts`,
    from: 'const waits = isFirstToBegin(operation);',
    to: "const waits = operation.step === 'starting';",
    witness: ofQueue('finds running operations after a restart by step or attempt'),
  },
  {
    name: 'who is paused keeps others waiting',
    file: `${QUEUE}/fleet-queue.ts`,
    from: "entry.state === 'waiting' && !entry.paused",
    to: "entry.state === 'waiting'",
    witness: ofQueue('skips a paused operation'),
  },
  {
    name: 'a place that is not used is never given back',
    file: `${QUEUE}/fleet-queue.ts`,
    from: "put(text, { ...entry, state: 'aside', place: undefined });",
    to: '',
    witness: ofQueue('gives an unused place to another until the owner asks again'),
  },
  {
    name: 'the next one is not woken',
    file: `${QUEUE}/fleet-queue.ts`,
    from: 'if (entry.reported !== undefined) wake(entry.key);',
    to: '',
    witness: ofQueue('wakes only the next operation when one ends'),
  },
  {
    name: 'places that move wake everybody at once',
    file: `${QUEUE}/fleet-queue.ts`,
    from: 'if (woken <= MOST_MOVED) wake(entry.key);',
    to: 'wake(entry.key);',
    witness: ofQueue('wakes at most 200 at once, and the others a second later'),
  },
  {
    name: 'first come, first served',
    file: `${QUEUE}/queue-order.ts`,
    from: 'compare(level(one), level(other)) ||',
    to: '',
    witness: unit(`${QUEUE}/queue-order.test.ts`, 'one of each namespace in turn'),
  },
  {
    name: 'deletions wait like all others',
    file: `${QUEUE}/queue-order.ts`,
    from: 'compare(Number(other.deletes), Number(one.deletes)) ||',
    to: '',
    witness: unit(`${QUEUE}/queue-order.test.ts`, 'deletions first of all'),
  },
  {
    name: 'the time in the queue counts against the deadline',
    file: 'src/controller/cluster/decide/work/rules.ts',
    from: 'isFirstToBegin(status) ? { ...status, startedAt: now.toISOString() } : status',
    to: 'status',
    witness: unit(
      'src/controller/cluster/decide/status/queued.test.ts',
      'gives an operation its full time after any wait',
    ),
  },
  {
    name: 'hosts are held while it waits',
    file: 'src/controller/cluster/decide/work/rules.ts',
    from: "if (turn.kind === 'waits') return { kind: 'rest', turn };",
    to: '',
    witness: {
      project: 'api',
      file: 'test/conformance/fleet-queue.test.ts',
      test: 'the fleet queue runs two operations at once',
    },
  },
];
