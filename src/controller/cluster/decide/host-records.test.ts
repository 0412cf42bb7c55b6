import { describe, expect, it } from 'vitest';
import { creating, held, joined, operation, outcome } from './testing/given.fixture.ts';

it('sets an Unclean host to Joined after a successful run', () => {
  const unclean = held.map((record) => ({ ...record, status: { state: 'Unclean' as const } }));
  const report = { success: true, message: '', hosts: [], kubeconfig: 'k' };
  const done = { ...creating, operation: { ...operation, step: 'nodes' }, hosts: unclean };
  expect(outcome({ ...done, attempt: { kind: 'succeeded', report } })).toMatchObject({
    effects: [{ kind: 'note', hosts: [{ status: { state: 'Joined' } }, {}, {}] }],
  });
});

describe('a host whose Host record was deleted meanwhile', () => {
  const [first, ...others] = held;
  const ip = first?.spec.ip ?? '';
  const given = { ...creating, operation: { ...operation, step: 'nodes' }, hosts: others };
  const written = { ...given, hosts: joined.slice(1) };
  const again = { effects: [{ kind: 'hold-again', hosts: [{ ip }] }] };
  const report = { success: true, message: '', hosts: [], kubeconfig: 'k' };
  const failed = (did: 'joined'[]) => ({
    kind: 'failed' as const,
    reason: 'X',
    message: 'x',
    report: { success: false, message: 'x', hosts: [{ ip, ok: true, did }] },
  });

  it('is held again if the run joined it, after the other records are written', () => {
    const attempt = { kind: 'succeeded' as const, report };
    expect(outcome({ ...given, attempt })).toMatchObject({ effects: [{ kind: 'note', hosts: [{}, {}] }] });
    expect(outcome({ ...written, attempt })).toMatchObject(again);
    expect(outcome({ ...given, attempt: failed(['joined']) })).toMatchObject(again);
    expect(outcome({ ...given, attempt: failed([]) })).toMatchObject({ kind: 'end', result: 'failed' });
  });

  it('stays with the cluster that holds it now, and the operation ends as its run did', () => {
    const taken = { ...written, takenAway: [ip] };
    // The outcome continues with the kubeconfig, which comes last.
    expect(outcome({ ...taken, attempt: { kind: 'succeeded', report } })).toMatchObject({
      stall: { reason: 'KubeconfigMissing' },
    });
    expect(outcome({ ...taken, attempt: failed(['joined']) })).toMatchObject({
      kind: 'end',
      reason: 'X',
    });
  });

  it('is held again if the progress of the run is unknown', () => {
    const touched = others.map((record) => ({
      ...record,
      status: { state: 'Held' as const, touched: true },
    }));
    const unsaid = { kind: 'failed' as const, reason: 'DeadlineExceeded', message: 'x' };
    for (const attempt of [{ kind: 'lost' as const, why: 'x' }, unsaid])
      expect(outcome({ ...given, hosts: touched, attempt })).toMatchObject(again);
  });
});

describe('a deletion during a run', () => {
  const note = { effects: [{ kind: 'note', hosts: held.map(() => ({ status: { touched: true } })) }] };
  const blocked = { reason: 'FailedCreate', message: 'quota', outdated: false };
  const given = { ...creating, operation: { ...operation, step: 'nodes' }, hosts: held, deleted: true };

  it('counts each host as touched first', () => {
    expect(outcome({ ...given, attempt: { kind: 'running', step: 'nodes' } })).toMatchObject(note);
    expect(outcome({ ...given, operation: { ...operation, attempt: 2 } })).toMatchObject(note);
  });

  it.each<[string, Parameters<typeof outcome>[0]]>([
    ['nothing ran yet', { attempt: { kind: 'absent' } }],
    ['its pod could not start', { attempt: { kind: 'running', blocked } }],
  ])('counts no host as touched if %s', (_, more) => {
    expect(outcome({ ...given, ...more })).toMatchObject({ kind: 'accept', operation: 'delete' });
  });
});

it('counts no host as touched if the pod of a run never started before the deadline', () => {
  const blocked = { reason: 'FailedCreate', message: 'quota', outdated: false };
  const late = { ...creating, now: new Date('2026-01-02T00:00:00Z'), hosts: held };
  const given = { ...late, operation: { ...operation, step: 'nodes' } };
  expect(outcome({ ...given, attempt: { kind: 'running', blocked } })).toMatchObject({
    kind: 'end',
    reason: 'DeadlineExceeded',
  });
});

it('counts each host as touched if a run exceeds its time or reports nothing', () => {
  const late = { ...creating, now: new Date('2026-01-02T00:00:00Z'), hosts: held };
  const note = { effects: [{ kind: 'note', hosts: held.map(() => ({ status: { touched: true } })) }] };
  const running = { ...late, operation: { ...operation, step: 'nodes' } };
  expect(outcome({ ...running, attempt: { kind: 'running', step: 'nodes' } })).toMatchObject(note);
  const attempt = { kind: 'failed' as const, reason: 'DeadlineExceeded', message: 'x' };
  expect(outcome({ ...running, attempt })).toMatchObject(note);
  const hosts = held.map((record) => ({ ...record, status: { state: 'Held' as const, touched: true } }));
  expect(outcome({ ...running, hosts, attempt })).toMatchObject({ reason: 'DeadlineExceeded' });
});

it('records joined hosts, machine ids, host keys and messages of a failed run', () => {
  const [first, second] = held.map(({ spec }) => spec.ip);
  const hosts = [
    {
      ip: first ?? '',
      ok: true,
      did: ['taken' as const, 'joined' as const],
      machineId: 'm1',
      hostKeys: ['ssh-ed25519 A'],
    },
    { ip: second ?? '', ok: false, did: [], message: 'too small', machineId: 'm2' },
  ];
  const report = { success: false, message: 'x', hosts };
  const given = { ...creating, operation: { ...operation, step: 'nodes' }, hosts: held };
  expect(outcome({ ...given, attempt: { kind: 'failed', reason: 'X', message: 'x', report } })).toMatchObject(
    {
      effects: [
        { kind: 'keep-host-keys', hosts: [{ ip: first }] },
        {
          kind: 'note',
          hosts: [
            {
              ip: first,
              status: { state: 'Joined', touched: true, machineId: 'm1', hostKeys: ['ssh-ed25519 A'] },
            },
            {
              ip: second,
              status: { state: 'Held', machineId: 'm2', lastRun: { ok: false, message: 'too small' } },
            },
          ],
        },
      ],
    },
  );
});

it('releases untouched hosts that the run could not log in to', () => {
  const [first, second, third] = held.map(({ spec }) => spec.ip);
  const no = { ok: false, did: [], message: 'refuses the key' };
  const hosts = [
    { ip: first ?? '', ...no, machineId: 'm1' },
    { ip: second ?? '', ...no },
    { ip: third ?? '', ...no },
  ];
  const report = { success: false, message: 'x', hosts };
  const attempt = { kind: 'failed' as const, reason: 'X', message: 'x', report };
  const given = { ...creating, operation: { ...operation, step: 'precheck' } };
  // The third host was touched, whatever state it has now.
  const [a, b, c] = held.map((record, index) =>
    index === 2 ? { ...record, status: { ...record.status, touched: true } } : record,
  );
  const records = [a, b, c].flatMap((record) => record ?? []);
  const noted = outcome({ ...given, hosts: records, attempt });
  expect(noted).toMatchObject({ effects: [{ kind: 'note', hosts: [{ ip: first }, { ip: third }] }] });
  const lastRun = { operation: 'create', sequence: 1, attempt: 1, did: [], ok: false, message: no.message };
  const written = records.map((record, index) =>
    index === 1
      ? record
      : {
          ...record,
          status: {
            ...record.status,
            ...(index === 0 ? { machineId: 'm1' } : {}),
            lastRun: { ...lastRun, at: operation.startedAt },
          },
        },
  );
  expect(outcome({ ...given, hosts: written, attempt })).toMatchObject({
    effects: [{ kind: 'release', hosts: [second] }],
  });
  const rest = written.filter((record) => record.spec.ip !== second);
  expect(outcome({ ...given, hosts: rest, attempt })).toMatchObject({ kind: 'end', result: 'failed' });
});

it('writes no host keys during a deletion', () => {
  const [away, ...others] = joined.map(({ spec }) => spec.ip);
  const hostKeys = ['ssh-ed25519 A'];
  const hosts = [
    { ip: away ?? '', ok: false, did: [], message: 'cannot be reached', hostKeys },
    ...others.map((ip) => ({ ip, ok: true, did: ['reset' as const], hostKeys })),
  ];
  const removing = { ...operation, name: 'delete' as const, word: 'terminating', step: 'Reset hosts' };
  const cluster = { status: { phase: 'Terminating' as const } };
  const given = { operation: removing, hosts: joined, deleted: true, cluster };
  const report = { success: true, message: '', hosts };
  expect(outcome({ ...given, attempt: { kind: 'succeeded', report } })).toMatchObject({
    effects: [
      { kind: 'note', hosts: [{ ip: away }] },
      { kind: 'release', hosts: others },
    ],
  });
});

it('waits before it fetches a kubeconfig again', () => {
  const fetch = { kind: 'failed' as const, reason: 'x', message: 'y', endedAt: '2026-01-01T00:00:50.000Z' };
  const given = {
    ...creating,
    operation: { ...operation, step: 'nodes' },
    hosts: joined,
    attempt: { kind: 'succeeded' as const },
    fetch,
  };
  expect(outcome(given)).toMatchObject({ kind: 'wait', ms: 20_000 });
});

it('keeps no fetched text that is not a kubeconfig, and retries with growing pauses', () => {
  const report = { success: true, message: '', hosts: [], kubeconfig: '<html>' };
  const given = {
    ...creating,
    operation: { ...operation, step: 'nodes' },
    hosts: joined,
    attempt: { kind: 'succeeded' as const, report },
  };
  expect(outcome(given)).toMatchObject({
    effects: [{ kind: 'start', attempt: { auxiliary: 'fetch', attempt: 1 } }],
  });
  const fetch = { kind: 'succeeded' as const, report, endedAt: '2026-01-01T00:00:50.000Z' };
  expect(outcome({ ...given, fetch })).toMatchObject({
    kind: 'wait',
    ms: 20_000,
    stall: { reason: 'KubeconfigMissing', message: expect.stringContaining('is no kubeconfig') },
  });
  const attempts = [{ clusterId: 'id1', sequence: 1, attempt: 1, job: 'fetch-x-1', auxiliary: 'fetch' }];
  const later = { ...given, attempts, fetch: { ...fetch, endedAt: '2026-01-01T00:00:10.000Z' } };
  expect(outcome(later)).toMatchObject({
    effects: [
      { kind: 'start', attempt: { attempt: 2 } },
      { kind: 'discard', attempts },
    ],
  });
  // The pause grows: the sixth try starts no earlier than eight minutes after the fifth.
  const tried = attempts.map((one) => ({ ...one, attempt: 5 }));
  expect(outcome({ ...later, attempts: tried })).toMatchObject({ kind: 'wait', ms: 430_000 });
});

it('writes new labels first, then the result of the host', () => {
  const [, , worker] = joined;
  if (!worker) throw new Error('there is no worker');
  const host = { ip: worker.spec.ip, name: worker.spec.name, duties: worker.spec.duties };
  const wanted = { ...host, labels: { rack: 'r1' } };
  const plan = {
    sequence: 2,
    hosts: [{ member: wanted, action: 'change' as const }],
    release: [],
    steps: [],
    hooks: [],
    refusals: [],
  };
  const said = [{ ip: host.ip, ok: true, did: ['changed' as const] }];
  const report = { success: true, message: '', hosts: said, kubeconfig: 'k' };
  const given = {
    ...creating,
    operation: { ...operation, name: 'relabel' as const, sequence: 2, step: 'Label nodes' },
    plan,
    attempt: { kind: 'succeeded' as const, report },
  };
  expect(outcome({ ...given, hosts: joined })).toMatchObject({
    effects: [{ kind: 'rewrite', hosts: [wanted] }],
  });
  const rewritten = joined.map((one) =>
    one === worker ? { ...one, spec: { ...one.spec, ...wanted } } : one,
  );
  expect(outcome({ ...given, hosts: rewritten })).toMatchObject({
    effects: [
      {
        kind: 'note',
        hosts: [{ ip: host.ip, status: { state: 'Joined', lastRun: { did: ['changed'], ok: true } } }],
      },
    ],
  });
});

describe('a host that missed changes of an earlier run', () => {
  const [first, ...others] = joined;
  const missed = {
    operation: 'replace',
    sequence: 1,
    attempt: 1,
    did: [],
    ok: false,
    message: 'no answer',
    at: '2026-01-01T00:00:00.000Z',
  };
  const hosts = joined.map((record) =>
    record === first ? record : { ...record, status: { ...record.status, lastRun: missed } },
  );
  const ended = { ...operation, name: 'relabel' as const, word: 'relabeling', step: 'Label nodes' };
  const report = {
    success: true,
    message: '',
    hosts: joined.map(({ spec: { ip } }) => ({ ip, ok: true, did: [] })),
    kubeconfig: 'k',
  };
  const noted = (at: readonly string[]) => {
    const clusterHosts = hosts.map(({ spec: { clusterId: _id, cluster: _cluster, ...host } }) => host);
    const plan = {
      sequence: 1,
      hosts: clusterHosts.map((host) => ({ member: host, action: 'change' as const })),
      release: [],
      steps: [{ name: 'Label nodes', hosts: [...at], pace: 'one' as const, cut: 'between' as const }],
      hooks: [],
      refusals: [],
    };
    const decided = outcome({
      word: 'relabeling',
      cluster: { status: { phase: 'Maintaining' } },
      operation: ended,
      plan,
      hosts,
      attempt: { kind: 'succeeded', report },
    });
    if (decided.kind !== 'act') return [];
    return decided.effects.flatMap((effect) =>
      effect.kind === 'note' ? effect.hosts.map(({ ip }) => ip) : [],
    );
  };

  it('keeps its last result if a later run connects only to other hosts', () => {
    const ips = others.map(({ spec }) => spec.ip);
    const one = first?.spec.ip ?? '';
    expect(noted([one])).toEqual([one]);
    expect(noted([one, ...ips])).toEqual([one, ...ips]);
  });
});
