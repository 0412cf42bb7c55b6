import { describe, expect, it } from 'vitest';
import { type Workspace, type WorkspaceSpec, type WorkspaceStatus, workspaceAnnotations } from '../api.ts';
import { endsAtMs, idleAtMs, planOf } from './plan.ts';
import type { WorkspacePod } from './pod.ts';

const MADE = Date.parse('2026-01-01T00:00:00Z');
const at = (minutes: number): string => new Date(MADE + minutes * 60_000).toISOString();
const workspace = (
  spec: Partial<WorkspaceSpec> = {},
  annotations: Record<string, string> = {},
  status: WorkspaceStatus = {},
): Workspace => ({
  metadata: { namespace: 'a', name: 'w', uid: 'mine', creationTimestamp: at(0), annotations },
  spec: { image: 'x', port: 1, ...spec },
  status,
});
const owned = (uid: string, more: object = {}, apiVersion = 'ecs.yun.com/v1'): WorkspacePod => ({
  metadata: {
    name: 'w',
    uid: 'pod',
    creationTimestamp: at(0),
    ownerReferences: [{ apiVersion, kind: 'Workspace', name: 'w', uid, controller: true }],
    ...more,
  },
});
const runsSince = (minutes: number): WorkspaceStatus => ({
  conditions: [{ type: 'Ready', status: 'True', reason: '', message: '', lastTransitionTime: at(minutes) }],
});

describe('the end of a workspace', () => {
  it.each<[string, Workspace, number | undefined]>([
    ['is never, by itself', workspace(), undefined],
    ['is so long after its creation', workspace({ ttlMinutes: 90 }), 90],
    ['is when its call gave up', workspace({}, { [workspaceAnnotations.awaitedUntil]: at(3) }), 3],
    ['is the first of both', workspace({ ttlMinutes: 2 }, { [workspaceAnnotations.awaitedUntil]: at(3) }), 2],
    [
      'is not of a mark that is no time',
      workspace({}, { [workspaceAnnotations.awaitedUntil]: 'soon' }),
      undefined,
    ],
  ])('%s', (_how, one, minutes) => {
    expect(endsAtMs(one)).toBe(minutes === undefined ? undefined : MADE + minutes * 60_000);
  });
});

describe('a workspace is stopped', () => {
  const now = new Date(at(100));
  const idle = { idleStopMinutes: 30 };
  it.each<[string, Workspace, number | undefined]>([
    ['never, where nothing says so', workspace({}, {}, runsSince(5)), undefined],
    ['never while it does not run', workspace(idle), undefined],
    ['never when it is stopped', workspace({ ...idle, running: false }, {}, runsSince(5)), undefined],
    ['so long after it began to run', workspace(idle, {}, runsSince(5)), 35],
    [
      'so long after it was used',
      workspace(idle, { [workspaceAnnotations.activeAt]: at(50) }, runsSince(5)),
      80,
    ],
    [
      'as if used now, for one used in the future',
      workspace(idle, { [workspaceAnnotations.activeAt]: at(900) }, runsSince(5)),
      130,
    ],
    [
      'whatever was before it ran',
      workspace(idle, { [workspaceAnnotations.activeAt]: at(1) }, runsSince(5)),
      35,
    ],
  ])('%s', (_how, one, minutes) => {
    expect(idleAtMs(one, now)).toBe(minutes === undefined ? undefined : MADE + minutes * 60_000);
  });
});

describe('the plan of a workspace', () => {
  const now = new Date(at(10));
  const none = { pod: undefined, claim: undefined };
  const storage = { size: '1Gi' };
  const done = { status: { phase: 'Failed' } };
  const NOTHING = { claim: undefined, pod: undefined, remove: undefined, hindrance: undefined };
  it('has volume and pod, and no volume if none is requested', () => {
    const plan = planOf(workspace({ storage }), none, now);
    expect(plan.claim?.metadata.name).toBe('w');
    expect(plan.pod?.metadata.name).toBe('w');
    expect(planOf(workspace(), none, now).claim).toBeUndefined();
  });
  it('is empty if pod and volume exist', () => {
    expect(planOf(workspace({ storage }), { pod: owned('mine'), claim: owned('mine') }, now)).toEqual(
      NOTHING,
    );
  });
  it.each<[string, WorkspacePod, object]>([
    ['its own pod goes', owned('mine'), { remove: { metadata: { uid: 'pod' } } }],
    ['one that goes is left', owned('mine', { deletionTimestamp: at(1) }), NOTHING],
    ['another’s is left', owned('other'), NOTHING],
  ])('only removes the pod of a stopped workspace: %s', (_what, pod, wanted) => {
    expect(planOf(workspace({ running: false }), { pod, claim: undefined }, now)).toMatchObject(wanted);
  });
  it.each<[string, WorkspacePod, string]>([
    ['of a former one that goes', owned('other'), 'FormerGoing'],
    ['of its own that goes', owned('mine', { deletionTimestamp: at(1) }), 'FormerGoing'],
    ['of somebody else', { metadata: { name: 'w' } }, 'NameTaken'],
    ['of a Workspace of another group', owned('other', {}, 'x.io/v1'), 'NameTaken'],
  ])('is empty while there is a pod %s', (_whose, pod, reason) => {
    expect(planOf(workspace(), { pod, claim: undefined }, now)).toMatchObject({
      pod: undefined,
      remove: undefined,
      hindrance: { reason },
    });
  });
  it('replaces a pod that ended, a while after it was created', () => {
    const ended = { ...owned('mine'), ...done };
    expect(planOf(workspace(), { pod: ended, claim: undefined }, now).remove).toBe(ended);
    expect(planOf(workspace(), { pod: ended, claim: undefined }, new Date(at(0))).remove).toBeUndefined();
  });
});
