import { describe, expect, it } from 'vitest';
import type { Condition } from '#api/conditions.ts';
import type { Health, Verdict } from '../snapshot.ts';
import { joined, snapshot } from '../testing/given.fixture.ts';
import { healthEvents } from './health.ts';
import { statusAfter } from './status.ts';

const TIMES = { lastTransitionTime: '2026-01-01T00:00:00.000Z', observedGeneration: 1 };
const condition = (type: string, status: Condition['status'], reason: string, message = 'm'): Condition => ({
  type,
  status,
  reason,
  message,
  ...TIMES,
});
const down: Condition[] = [
  condition('Ready', 'False', 'ControlPlaneUnavailable'),
  condition('HostsReachable', 'Unknown', 'NotObserved'),
];
const well: Verdict = {
  conditions: [
    { type: 'Ready', status: 'True', reason: 'Healthy', message: 'm' },
    { type: 'HostsReachable', status: 'True', reason: 'AllReady', message: 'm' },
  ],
  nodes: { ready: 3, total: 3 },
};

/** Returns status after a reconcile at rest, given the conditions before. */
function statusGiven(health: Health, { conditions = down, deleted = false, appliedBy = 1 } = {}) {
  const status = { phase: 'Running' as const, conditions, nodes: { ready: 1, total: 3 } };
  const kept = snapshot({
    word: 'create-finished',
    health,
    hosts: joined,
    deleted,
    ...(appliedBy > 0 ? { appliedBy } : {}),
    cluster: { status },
  });
  const made = statusAfter(kept, { kind: 'rest' });
  const said = made.conditions?.map(({ type, status: is, reason }) => `${type} ${is} ${reason}`) ?? [];
  return { said, nodes: made.nodes, summary: made.summary };
}

describe('the status of a cluster', () => {
  it('shows the conditions and nodes of the last probe', () => {
    expect(statusGiven({ kind: 'seen', verdict: well })).toMatchObject({
      said: ['Ready True Healthy', 'HostsReachable True AllReady', 'UpToDate True Applied'],
      nodes: { ready: 3, total: 3 },
      summary: 'Running',
    });
  });

  it('stays unchanged after a restart until the first probe', () => {
    expect(statusGiven({ kind: 'unseen' })).toMatchObject({
      said: [
        'Ready False ControlPlaneUnavailable',
        'HostsReachable Unknown NotObserved',
        'UpToDate True Applied',
      ],
      nodes: { ready: 1, total: 3 },
      summary: 'Running; Ready: ControlPlaneUnavailable',
    });
    expect(statusGiven({ kind: 'unseen' }, { conditions: [] }).said).toContain('Ready True Created');
  });

  it('omits conditions that are not probed', () => {
    expect(statusGiven({ kind: 'off' })).toMatchObject({
      said: ['Ready True Created', 'UpToDate True Applied'],
    });
    expect(statusGiven({ kind: 'off' }).nodes).toBeUndefined();
    const going = statusGiven({ kind: 'seen', verdict: well }, { deleted: true });
    expect(going.said).toContain('Ready False Terminating');
    expect(going.said.some((one) => one.startsWith('HostsReachable'))).toBe(false);
    expect(going.nodes).toBeUndefined();
    const uncreated = statusGiven({ kind: 'seen', verdict: well }, { appliedBy: 0 });
    expect(uncreated.said.some((one) => one.startsWith('HostsReachable'))).toBe(false);
  });
});

describe('Events', () => {
  const one = (status: Condition['status'], reason: string, message = 'm', type = 'EtcdHealthy') => [
    condition(type, status, reason, message),
  ];
  it.each<[string, Condition[], Condition[], string[]]>([
    [
      'tell what turns bad',
      one('True', 'AllHealthy'),
      one('False', 'Degraded', 'a'),
      ['Warning EtcdDegraded a'],
    ],
    [
      'tell more of it',
      one('False', 'Degraded', 'a'),
      one('False', 'Degraded', 'b'),
      ['Warning EtcdDegraded b'],
    ],
    [
      'tell what is well again',
      one('False', 'Degraded'),
      one('True', 'AllHealthy', 'a'),
      ['Normal EtcdHealthy a'],
    ],
    ['are not repeated', one('False', 'Degraded'), one('False', 'Degraded'), []],
    ['tell nothing of what is well at first', [], one('True', 'AllHealthy'), []],
    ['tell nothing of what nobody knows', one('True', 'AllHealthy'), one('Unknown', 'NotObserved', 'a'), []],
    [
      'warn of a certificate in time',
      one('True', 'Valid', 'a', 'CertificatesValid'),
      one('True', 'ExpiresSoon', 'b', 'CertificatesValid'),
      ['Warning CertificateExpiresSoon b'],
    ],
    [
      'name a missing node as such',
      one('True', 'AllReady', 'a', 'HostsReachable'),
      one('False', 'NodeMissing', 'b', 'HostsReachable'),
      ['Warning NodeMissing b'],
    ],
  ])('%s', (_, before, now, reported) => {
    expect(
      healthEvents(before, now).map(({ type, reason, message }) => `${type} ${reason} ${message}`),
    ).toEqual(reported);
  });
});
