import { describe, expect, it } from 'vitest';
import type { Spec } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import type { Health, Snapshot } from '../snapshot.ts';
import { decide } from '../table.ts';
import { operation, recordsOf, snapshot } from '../testing/given.fixture.ts';
import { nextInWindow } from './auto-renew.ts';

const DAY = 86_400_000;
const HOUR = 3_600_000;
const { now } = snapshot({});
const inDays = (days: number) => new Date(now.getTime() + days * DAY);
const utc = (at: Date) => at.toISOString().slice(11, 16);
const seen = (certificatesEnd?: Date): Health => ({
  kind: 'seen',
  verdict: { conditions: [], ...(certificatesEnd ? { certificatesEnd } : {}) },
});

interface Given {
  policy?: Spec['policy'];
  spec?: Partial<Spec>;
  health?: Health;
  extraAnnotations?: Record<string, string>;
  dryRun?: boolean;
  /** The last operation was a renewal, which began an hour ago. */
  renewed?: 'finished' | 'failed';
  kubeconfig?: Snapshot['kubeconfig'];
  certificatesExpire?: Date;
}

/** Returns a created cluster at rest whose first certificate ends in 20 days. */
function at({
  policy = { autoRenew: {} },
  spec = {},
  health = seen(inDays(20)),
  extraAnnotations = {},
  dryRun = false,
  renewed,
  kubeconfig = { kind: 'present' },
  certificatesExpire,
}: Given = {}): Snapshot {
  const cluster: Spec['cluster'] = { masterList: [{ ip: '10.0.0.1' }] };
  const ended = {
    ...operation,
    step: 'done',
    result: 'finished',
    recorded: true,
    spec: { cluster: {} },
    ...(renewed
      ? {
          name: 'renew' as const,
          word: 'renewing',
          result: renewed,
          startedAt: new Date(now.getTime() - HOUR).toISOString(),
        }
      : {}),
  } as const;
  return snapshot({
    word: renewed ? `renew-${renewed}` : 'create-finished',
    dryRun,
    extraAnnotations,
    appliedBy: 1,
    cluster: {
      spec: { cluster, policy, ...spec },
      status: {
        phase: 'Running',
        operation: ended,
        ...(certificatesExpire ? { certificatesExpire: certificatesExpire.toISOString() } : {}),
      },
    },
    hosts: recordsOf({ cluster }, 'Joined'),
    operation: ended,
    kubeconfig,
    health,
  });
}

describe('a cluster whose certificates end in 20 days', () => {
  it('requests a renewal if the policy says so', () => {
    expect(decide(at())).toEqual({
      signal: 'renewal-due',
      outcome: {
        kind: 'act',
        effects: [{ kind: 'ask-upkeep', operation: 'renew', requestId: 'auto-renew-2' }],
      },
    });
  });

  it('waits for the window', () => {
    const from = utc(new Date(now.getTime() + 2 * HOUR));
    const to = utc(new Date(now.getTime() + 3 * HOUR));
    const { signal, outcome } = decide(at({ policy: { autoRenew: { from, to } } }));
    expect(signal).toBe('renewal-due');
    expect(outcome.kind === 'wait' && Math.abs(outcome.ms - 2 * HOUR)).toBeLessThan(60_000);
  });

  it('waits most of a day after the last request', () => {
    const before = new Date(now.getTime() - HOUR).toISOString();
    const { outcome } = decide(at({ extraAnnotations: { [annotations.renewedAt]: before } }));
    expect(outcome).toEqual({ kind: 'wait', ms: 19 * HOUR });
  });

  it.each([
    ['failed', 19 * HOUR],
    ['finished', 7 * DAY - HOUR],
  ] as const)('waits after a renewal that %s', (renewed, ms) => {
    expect(decide(at({ renewed })).outcome).toEqual({ kind: 'wait', ms });
  });

  it('requests a renewal though the kubeconfig has expired, and no probe gets an answer', () => {
    const given: Given = { kubeconfig: { kind: 'missing' }, health: seen(), certificatesExpire: inDays(-1) };
    expect(decide(at(given)).signal).toBe('renewal-due');
    expect(decide(at({ ...given, certificatesExpire: inDays(1) })).signal).toBe('kubeconfig-missing');
  });

  it.each<[string, Given]>([
    ['the policy does not say so', { policy: {} }],
    ['the certificates end later', { health: seen(inDays(31)) }],
    ['no end is known', { health: seen() }],
    ['the cluster is paused', { spec: { paused: true } }],
    ['a dry run is requested', { dryRun: true }],
  ])('rests if %s', (_, given) => {
    expect(decide(at(given)).signal).toBe('idle');
  });
});

describe('a daily window', () => {
  const day = (time: string) => new Date(`2026-01-01T${time}:00Z`);
  it.each([
    ['02:00', '04:00', '01:00', '2026-01-01T02:00'],
    ['02:00', '04:00', '03:30', '2026-01-01T03:30'],
    ['02:00', '04:00', '04:00', '2026-01-02T02:00'],
    ['22:00', '02:00', '12:00', '2026-01-01T22:00'],
    ['22:00', '02:00', '23:00', '2026-01-01T23:00'],
    ['22:00', '02:00', '01:00', '2026-01-01T01:00'],
  ])('from %s to %s, at %s begins at %s', (from, to, time, expected) => {
    expect(nextInWindow({ from, to }, day(time)).toISOString().slice(0, 16)).toBe(expected);
  });
});
