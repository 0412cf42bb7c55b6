import { expect, it } from 'vitest';
import { claims, creating, operation, outcome } from './given.ts';

it('joins a host that was remembered as unclean', () => {
  const unclean = claims.map((claim) => ({ ...claim, state: 'unclean' as const }));
  const report = { success: true, message: '', hosts: [], kubeconfig: 'k' };
  const done = { ...creating, operation: { ...operation, step: 'nodes' }, claims: unclean };
  expect(outcome({ ...done, attempt: { kind: 'succeeded', report } })).toMatchObject({
    effects: [{ kind: 'join' }],
  });
});

it('waits before it fetches a kubeconfig again', () => {
  const joined = claims.map((claim) => ({ ...claim, state: 'joined' as const }));
  const fetch = { kind: 'failed' as const, reason: 'x', message: 'y', endedAt: '2026-01-01T00:00:50.000Z' };
  const given = {
    ...creating,
    operation: { ...operation, step: 'nodes' },
    claims: joined,
    attempt: { kind: 'succeeded' as const },
    fetch,
  };
  expect(outcome(given)).toMatchObject({ kind: 'wait', ms: 20_000 });
});

it('does not keep, over and over, what was fetched and is no kubeconfig', () => {
  const joined = claims.map((claim) => ({ ...claim, state: 'joined' as const }));
  const report = { success: true, message: '', hosts: [], kubeconfig: '<html>' };
  const given = {
    ...creating,
    operation: { ...operation, step: 'nodes' },
    claims: joined,
    attempt: { kind: 'succeeded' as const, report },
  };
  expect(outcome(given)).toMatchObject({ effects: [{ kind: 'start', attempt: { operation: 'fetch' } }] });
  const fetch = { kind: 'succeeded' as const, report, endedAt: '2026-01-01T00:00:50.000Z' };
  expect(outcome({ ...given, fetch })).toMatchObject({
    kind: 'wait',
    ms: 20_000,
    stall: { reason: 'KubeconfigMissing', message: expect.stringContaining('is no kubeconfig') },
  });
  const attempts = [{ clusterId: 'id1', sequence: 1, attempt: 1, job: 'fetch-x-1' }];
  const later = { ...given, attempts, fetch: { ...fetch, endedAt: '2026-01-01T00:00:10.000Z' } };
  expect(outcome(later)).toMatchObject({ effects: [{ kind: 'discard', attempts }] });
});
