import { expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '#base/testing/manual-clock.ts';
import { CommandFailure, EXIT } from './failure.ts';
import type { Io } from './io.ts';
import type { Session } from './session.ts';
import { type Awaited, waitFor } from './wait.ts';

const address = { params: { region: 'default', name: 'demo' }, query: { namespace: 'default' } };
const awaited = (more: Partial<Awaited> = {}): Awaited => ({
  ...{ name: 'demo', address, hosts: [], timeoutSeconds: undefined },
  what: { kind: 'operation', requestId: 'ours' },
  ...more,
});
const away = () => new CommandFailure('the server does not answer', EXIT.unavailable);
const cluster = (status: object, operation = 'renewing', requestId = 'ours') => ({
  metadata: {
    ...{ name: 'demo', uid: 'here', generation: 2 },
    annotations: { 'app.kubernetes.io/operation': operation, 'ecs.yun.com/request-id': requestId },
  },
  spec: { cluster: {} },
  status,
});
const operation = (result?: string, requestId = 'ours') => ({
  ...{ id: 'x', name: 'renew', requestId, step: 'Renew', startedAt: '2026-11-29T10:00:00Z', result },
});
const record = (result: string, requestId = 'ours') => ({
  ...{ id: 'x', operation: 'renew', sequence: 3, result, requestId, attempt: 1, message: 'no space' },
  startedAt: '2026-11-29T10:00:00Z',
});

/** Waits while `answers` says what the server has at each reading; the last answer stays. `records`: of operations. */
function waiting(answers: (object | undefined | Error)[], of: Awaited, records: object[] = []) {
  const clock: ManualClock = createManualClock();
  const notes: string[] = [];
  let readings = 0;
  const session: Session = {
    call: async (route) => route.answer.parse({ items: records }),
    async find(route) {
      const answer = answers[Math.min(readings, answers.length - 1)];
      readings += 1;
      if (answer instanceof Error) throw answer;
      return answer === undefined ? undefined : route.answer.parse(answer);
    },
    lines: (_path, _onLine, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    namespace: 'default',
    region: 'default',
  };
  const io: Io = {
    print: () => {},
    note: (line) => notes.push(line),
    isTerminal: false,
    ask: async () => '',
    input: async () => '',
    clock,
    signal: new AbortController().signal,
  };
  let end: string | undefined;
  const ended = waitFor(session, io, of).then(
    () => {
      end = 'finished';
    },
    (error: unknown) => {
      end = error instanceof CommandFailure ? `${error.exitCode} ${error.message}` : String(error);
    },
  );
  return {
    notes,
    ended,
    async pass(seconds: number) {
      for (let second = 0; second < seconds && end === undefined; second += 1) await clock.advance(1_000);
      return end;
    },
  };
}

it('prints each step once, and ends when the result is recorded', async () => {
  const { notes, pass } = waiting(
    [
      cluster({}),
      cluster({ operation: operation() }),
      cluster({ operation: operation() }),
      cluster({ operation: operation('finished') }),
      cluster({ operation: operation('finished') }, 'renew-finished'),
    ],
    awaited(),
  );
  expect(await pass(10)).toBe('finished');
  expect(notes).toEqual(['waits for the operator', 'renew: Renew', 'renew: the end is being recorded']);
});

it('waits for a server that is away, for two minutes', async () => {
  const back = waiting(
    [away(), away(), cluster({ operation: operation('finished') }, 'renew-finished')],
    awaited(),
  );
  expect(await back.pass(10)).toBe('finished');
  expect(back.notes).toEqual(['the server does not answer; trying again']);
  const gone = waiting([away()], awaited());
  expect(await gone.pass(119)).toBeUndefined();
  expect(await gone.pass(5)).toBe('5 the server does not answer');
});

const stalled = (reason: string, observedGeneration = 2) => ({
  conditions: [
    {
      ...{
        type: 'Stalled',
        status: 'True',
        reason,
        message: 'so',
        lastTransitionTime: '',
        observedGeneration,
      },
    },
  ],
});

it('fails if the request needs the user, but not at once', async () => {
  const { pass } = waiting([cluster(stalled('CredentialsMissing'))], awaited());
  expect(await pass(9)).toBeUndefined();
  expect(await pass(5)).toBe('1 demo: CredentialsMissing: so');
});

it('does not take the end of the last operation, or what was said of an older spec, for an obstacle', async () => {
  for (const status of [stalled('OperationFailed'), stalled('Cancelled'), stalled('InvalidSpec', 1)])
    expect(await waiting([cluster(status)], awaited()).pass(60)).toBeUndefined();
});

it('finds the result of its operation after another one has begun', async () => {
  const later = cluster({ operation: operation(undefined, 'theirs') }, 'snapshotting', 'theirs');
  const seen = cluster({ operation: operation() });
  expect(await waiting([seen, later], awaited(), [record('finished')]).pass(5)).toBe('finished');
  expect(await waiting([seen, later], awaited(), [record('failed')]).pass(5)).toMatch(
    /^1 demo: renew failed: no space/,
  );
  const replaced = waiting([later], awaited(), [record('finished', 'theirs')]);
  expect(await replaced.pass(9)).toBeUndefined();
  expect(await replaced.pass(5)).toBe('1 demo: another request has replaced this one before it began');
});

it('waits until a deleted cluster is gone, or another one has its name', async () => {
  const deletion = awaited({ what: { kind: 'deletion', uid: 'here', before: undefined } });
  expect(await waiting([cluster({}), undefined], deletion).pass(5)).toBe('finished');
  const another = { ...cluster({}), metadata: { name: 'demo', uid: 'new', annotations: {} } };
  expect(await waiting([cluster({}), another], deletion).pass(5)).toBe('finished');
  const { pass } = waiting(
    [cluster({ operation: { ...operation('failed'), name: 'delete' }, message: 'away' })],
    deletion,
  );
  expect(await pass(9)).toBeUndefined();
  expect(await pass(5)).toMatch(/^1 demo: delete failed: away/);
  expect(await waiting([cluster({}), undefined], awaited()).pass(5)).toBe(
    '1 cluster demo was deleted meanwhile',
  );
});

it('does not take the end of a former deletion for that of its retry', async () => {
  const retry = awaited({ what: { kind: 'deletion', uid: 'here', before: 'x' } });
  const ended = { operation: { ...operation('failed'), name: 'delete' }, message: 'away' };
  const { pass } = waiting([cluster({ ...ended, ...stalled('OperationFailed') })], retry);
  expect(await pass(60)).toBeUndefined();
  const second = { ...ended, operation: { ...ended.operation, id: 'y' } };
  expect(await waiting([cluster(ended), cluster(second)], retry).pass(30)).toMatch(/^1 demo: delete failed/);
  const refused = waiting([cluster({ ...ended, ...stalled('CredentialsMissing') })], retry);
  expect(await refused.pass(30)).toBe('1 demo: CredentialsMissing: so');
});

it('ends with the reason of a failure, and at the time limit', async () => {
  const failed = { operation: operation('failed'), message: 'no space on 192.0.2.11' };
  expect(await waiting([cluster(failed)], awaited()).pass(3)).toBe(
    '1 demo: renew failed: no space on 192.0.2.11\n"matryoshka logs demo --operation x" has its log',
  );
  const { pass } = waiting([cluster({ operation: operation() })], awaited({ timeoutSeconds: 30 }));
  expect(await pass(29)).toBeUndefined();
  expect(await pass(5)).toBe(
    '6 demo: the operation has not ended after 30 s, and goes on; "matryoshka logs -f demo" shows it',
  );
});
