import { describe, expect, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import type { Spec } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import type { Health, Snapshot } from '../snapshot.ts';
import { statusAfter } from '../status/status.ts';
import { decide } from '../table.ts';
import { operation, recordsOf, snapshot } from '../testing/given.fixture.ts';
import { PRESENCE, remediationEvents } from './remediation.ts';

const MINUTE = 60_000;
const host = (last: number) => ({ ip: `10.0.0.${last}` });
const cluster: Spec['cluster'] = {
  masterList: [1, 2, 3].map(host),
  nodeList: [{ ...host(3), labels: { rack: 'r1' } }, host(4)],
};
const three: Spec = {
  cluster: { ...cluster, masterList: [host(1), host(2), { ...host(3), labels: { rack: 'r1' } }] },
  policy: { replaceFrom: [host(8), host(9)] },
};
const away = (ip = '10.0.0.3', forMs = 10 * MINUTE): Health => ({
  kind: 'seen',
  verdict: {
    conditions: [
      { type: 'Ready', status: 'True', reason: 'Healthy', message: 'm' },
      { type: PRESENCE, status: 'False', reason: 'OneAway', message: ip },
    ],
  },
  away: { ip, forMs },
});
const reported = (status: 'True' | 'False' | 'Unknown', reason: string, message = 'm'): Health => ({
  kind: 'seen',
  verdict: { conditions: [{ type: PRESENCE, status, reason, message }] },
});

interface Given {
  spec?: Spec;
  health?: Health;
  extraAnnotations?: Record<string, string>;
  dryRun?: boolean;
  word?: string;
  result?: 'finished' | 'failed';
  state?: 'Joined' | 'Unclean';
  more?: Partial<Snapshot>;
}

/** Returns a created cluster at rest, one of whose control planes has been away for ten minutes. */
function at({
  spec = three,
  health = away(),
  extraAnnotations = {},
  dryRun = false,
  word = 'create-finished',
  result = 'finished',
  state = 'Joined',
  more = {},
}: Given = {}): Snapshot {
  const failed = { name: 'scale-up', word: 'scaling-up', sequence: 2 } as const;
  const ended = {
    ...operation,
    ...(result === 'failed' ? failed : {}),
    step: 'done',
    result,
    recorded: true,
    spec: { cluster: {} },
  };
  return snapshot({
    word,
    dryRun,
    extraAnnotations: extraAnnotations,
    appliedBy: 1,
    cluster: { spec, status: { phase: result === 'finished' ? 'Running' : 'Failed', operation: ended } },
    hosts: [
      ...recordsOf({ cluster: three.cluster }, 'Joined'),
      ...recordsOf({ cluster: { masterList: [host(7)] } }, state).filter(() => state !== 'Joined'),
    ],
    operation: ended,
    kubeconfig: { kind: 'present' },
    health,
    ...more,
  });
}

/** Returns the condition after a reconcile at rest, in one line. */
function said(given: Given): string {
  const found = findCondition(statusAfter(at(given), { kind: 'rest' }).conditions, 'RemediationReady');
  return found ? `${found.status} ${found.reason}: ${found.message}` : 'absent';
}
const under = (policy: Spec['policy'], more: Partial<Spec> = {}): Spec => ({
  ...three,
  ...more,
  ...(policy ? { policy } : {}),
});
const signalOf = (given: Given): string => decide(at(given)).signal;

it('requests the replacement of an absent control plane in every host list', () => {
  expect(decide(at())).toEqual({
    signal: 'remediation-due',
    outcome: {
      kind: 'act',
      effects: [
        {
          kind: 'remediate',
          change: {
            masterList: [host(1), host(2), host(8)],
            nodeList: [host(8), host(4)],
          },
          replaceFrom: [host(9)],
          requestId: 'remedy-10.0.0.3-2',
          message:
            'control plane 10.0.0.3 has been away for 10 min or more; 10.0.0.8 takes its place, as spec.policy says',
        },
      ],
    },
  });
});

describe('a remediation', () => {
  const ago = (hours: number) => ({
    [annotations.remediedAt]: new Date(
      Date.parse('2026-01-01T00:01:00Z') - hours * 60 * MINUTE,
    ).toISOString(),
  });
  const { policy: _none, ...without } = three;
  const failed = { word: 'scale-up-failed', result: 'failed' } as const;
  it.each<[string, Given, string]>([
    ['comes when its time is over', {}, 'remediation-due'],
    [
      'comes sooner where the policy says so',
      { spec: under({ ...three.policy, replaceAfterMinutes: 1 }), health: away('10.0.0.3', MINUTE) },
      'remediation-due',
    ],
    ['does not come before', { health: away('10.0.0.3', 10 * MINUTE - 1) }, 'idle'],
    ['does not come without a policy', { spec: without }, 'idle'],
    ['does not come without a spare', { spec: under({ replaceFrom: [] }) }, 'idle'],
    ['does not come while several are away', { health: reported('False', 'NotAlone') }, 'idle'],
    ['does not come while nobody can tell', { health: reported('Unknown', 'NotJudged') }, 'idle'],
    [
      'does not come for one that was told and is back',
      { health: reported('False', 'OneAway', '10.0.0.3') },
      'idle',
    ],
    ['does not come for one that is not of the cluster any more', { health: away('10.0.0.6') }, 'idle'],
    ['does not come while nobody looks', { health: { kind: 'off' } }, 'idle'],
    ['does not come in a pause', { spec: under(three.policy, { paused: true }) }, 'idle'],
    ['does not come while things are only planned', { dryRun: true }, 'idle'],
    [
      'does not come beside a plan that somebody agreed to',
      { extraAnnotations: { [annotations.plan]: 'a'.repeat(64) } },
      'idle',
    ],
    ['comes a day after the last one', { extraAnnotations: ago(24) }, 'remediation-due'],
    ['does not come twice a day', { extraAnnotations: ago(23.9) }, 'idle'],
    ['does not come after one that is yet to come', { extraAnnotations: ago(-1) }, 'idle'],
    [
      'does not come after one of which nobody knows when',
      { extraAnnotations: { [annotations.remediedAt]: 'x' } },
      'idle',
    ],
    [
      'comes more often where the policy says so',
      { spec: under({ ...three.policy, replaceAtMostEveryHours: 1 }), extraAnnotations: ago(1) },
      'remediation-due',
    ],
    ['waits for what a person asks', { word: 'relabeling' }, 'requested'],
    [
      'waits for what an edit asks',
      { spec: { ...three, cluster: { ...three.cluster, nodeList: [host(3)] } } },
      'needs-confirmation',
    ],
    ['does not follow an operation that failed', { ...failed, state: 'Unclean' }, 'idle'],
    ['follows one whose edit was taken back', failed, 'remediation-due'],
    ['follows one that left a host unclean', { state: 'Unclean' }, 'remediation-due'],
  ])('%s', (_what, given, expected) => {
    expect(signalOf(given)).toBe(expected);
  });

  it('uses the next spare if the first has a Host record or does not fit', () => {
    const spareOf = (given: Given) => {
      const { outcome } = decide(at(given));
      return outcome.kind === 'act' && outcome.effects[0].kind === 'remediate'
        ? outcome.effects[0].change.masterList?.at(-1)
        : undefined;
    };
    expect(spareOf({ more: { sparesOnRecord: ['10.0.0.8'] } })).toEqual(host(9));
    // This host has the name of one that left and could not be reset.
    const named = { ...host(8), name: 'host-10-0-0-7' };
    expect(spareOf({ state: 'Unclean', spec: under({ replaceFrom: [named, host(9)] }) })).toEqual(host(9));
    expect(spareOf({ more: { sparesOnRecord: ['10.0.0.8', '10.0.0.9'] } })).toBeUndefined();
  });
});

describe('the condition RemediationReady', () => {
  it.each<[string, Given, string]>([
    ['is absent without a policy', { spec: { cluster: three.cluster } }, 'absent'],
    [
      'tells what would be done',
      { health: reported('True', 'AllPresent') },
      'True NobodyAway: a control plane that is away for 10 min is replaced by 10.0.0.8',
    ],
    [
      'tells what will be done',
      { health: away('10.0.0.3', MINUTE) },
      'True ControlPlaneAway: control plane 10.0.0.3 is away; 10.0.0.8 takes its place once it has been away for 10 min',
    ],
    [
      'tells that several are away',
      { health: reported('False', 'NotAlone', 'several') },
      'False SeveralAway: several; the operator replaces a control plane only if it alone is away',
    ],
    [
      'tells that it was done lately',
      { extraAnnotations: { [annotations.remediedAt]: '2026-01-01T00:00:00Z' } },
      'False TooSoon: control plane 10.0.0.3 is away; the last replacement was less than 24 h ago',
    ],
    [
      'tells that no spare is left',
      { spec: under({ replaceFrom: [] }) },
      'False NoSpareHost: no spare host is left; name one in spec.policy.replaceFrom',
    ],
    [
      'tells that spares are hosts of clusters',
      { more: { sparesOnRecord: ['10.0.0.8', '10.0.0.9'] } },
      'False NoSpareHost: every spare host is on record as a host of a cluster already: 10.0.0.8, 10.0.0.9',
    ],
    [
      'tells why no spare fits',
      { state: 'Unclean', spec: under({ replaceFrom: [{ ...host(8), name: 'host-10-0-0-7' }] }) },
      'False NoSpareFits: control plane 10.0.0.3 is away, and no spare can take its place: 10.0.0.8: spec.cluster names host 10.0.0.8 "host-10-0-0-7", which is the name of 10.0.0.7 (Unclean); remove that host first, or choose another name',
    ],
    [
      'tells that an operation failed',
      { word: 'scale-up-failed', result: 'failed', state: 'Unclean' },
      'False NotUpToDate: nothing is replaced until the cluster is what its spec says (UpToDate)',
    ],
    [
      'tells that there is one control plane',
      { spec: under(three.policy, { cluster: { masterList: [host(1)] } }) },
      'False OneControlPlane: the cluster has one control plane, and without it no API server answers',
    ],
    ['waits for the first look', { health: { kind: 'unseen' } }, 'absent'],
  ])('%s', (_what, given, expected) => {
    expect(said(given)).toBe(expected);
  });

  it('stays unchanged until the next probe', () => {
    const before = statusAfter(at(), { kind: 'rest' });
    const unseen = at({ health: { kind: 'unseen' } });
    const restarted = { ...unseen, cluster: { ...unseen.cluster, status: before } };
    expect(statusAfter(restarted, { kind: 'rest' }).conditions).toEqual(before.conditions);
  });

  it('is reported as one Event while a control plane is away', () => {
    const [well, bad] = [at({ health: reported('True', 'AllPresent') }), at()].map(
      (one) => statusAfter(one, { kind: 'rest' }).conditions,
    );
    expect(remediationEvents(well, bad).map(({ reason }) => reason)).toEqual(['ControlPlaneAway']);
    expect(remediationEvents(bad, bad)).toEqual([]);
    expect(remediationEvents(bad, well)).toEqual([]);
  });
});
