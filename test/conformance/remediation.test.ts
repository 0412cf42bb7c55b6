import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster, type Spec } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { systemClock } from '#base/clock.ts';
import { type MadeCluster, startMadeCluster } from '../worlds/made-cluster.ts';
import { startOperator, type TestOperator } from '../worlds/operator.ts';

/** Remediation: control planes that answer on loopback addresses, nodes that the test writes, and a separate clock. */
let made: MadeCluster;
let operator: TestOperator;
let events: string[];
let aheadMs: number;
let fails: (job: string) => boolean;
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const ip = (last: number): string => `127.0.0.${last}`;
const host = (last: number) => ({ ip: ip(last) });
const nodeOf = (last: number): string => `host-127-0-0-${last}`;
const spec: Spec = {
  cluster: { masterList: [1, 2, 3].map(host), nodeList: [{ ip: '10.251.0.2' }] },
  policy: { replaceFrom: [4, 5].map(host), replaceAfterMinutes: 1 },
};

beforeAll(async () => {
  made = await startMadeCluster([1, 2, 3, 4, 5].map(ip));
});
afterAll(() => made.stop());

async function setMaster(last: number, lives: boolean): Promise<void> {
  if (last > 1) await made.serveAt(ip(last), lives);
  await made.setNode(nodeOf(last), lives);
  await made.setEtcd(nodeOf(last), lives);
}

beforeEach(async () => {
  events = [];
  aheadMs = 0;
  fails = () => false;
  await made.setNode('host-10-251-0-2', true);
  for (const last of [1, 2, 3, 4, 5]) await setMaster(last, true);
  const kubeconfig = made.kubeconfig();
  operator = await startOperator(
    inject('kubeconfigPath'),
    (job) =>
      fails(job)
        ? { kind: 'report', success: false, reason: 'PrecheckFailed', message: 'the spare is away' }
        : { kind: 'report', success: true, kubeconfig },
    {
      clock: {
        ...systemClock,
        now: () => new Date(Date.now() + aheadMs),
        monotonicMs: () => systemClock.monotonicMs() + aheadMs,
      },
      health: { intervalMs: 100, deadlineMs: 5_000, workers: 4, port: made.port },
      onEvent: (reason, message) => events.push(`${reason}: ${message}`),
    },
  );
});
afterEach(() => operator.stop());

const says = (cluster: KubernetesCluster | undefined): string => {
  const found = findCondition(cluster?.status?.conditions, 'RemediationReady');
  return found ? `${found.status} ${found.reason}` : 'absent';
};
const untilSays = (wanted: string) => operator.until('demo', (cluster) => says(cluster) === wanted);
/** Resolves when the cluster was probed `times` more. Each probe asks every control plane that answers. */
async function checksAgain(times: number): Promise<void> {
  const before = made.checks();
  await expect.poll(made.checks, { timeout: 30_000 }).toBeGreaterThan(before + 3 * times);
}
/** Moves the clock, then waits for a probe of the cluster. */
async function pass(ms: number): Promise<void> {
  aheadMs += ms;
  await checksAgain(3);
}
const replaced = (cluster: KubernetesCluster | undefined): boolean =>
  cluster?.metadata.annotations?.[annotations.operation] === 'replace-finished';
const replacements = (): number => operator.started.filter((job) => job.startsWith('replace-')).length;
const mastersOf = (cluster: KubernetesCluster | undefined) =>
  cluster?.spec.cluster.masterList?.map((one) => one.ip);
const sparesOf = (cluster: KubernetesCluster | undefined) =>
  cluster?.spec.policy?.replaceFrom?.map((one) => one.ip);

async function create(): Promise<void> {
  await operator.apply('demo', spec, 'creating');
  await untilSays('True NobodyAway');
}

it('remediation replaces a control plane that stays away, once a day, until no spare is left', async () => {
  await create();
  await setMaster(3, false);
  await untilSays('True ControlPlaneAway');
  await checksAgain(3);
  expect(replacements()).toBe(0);
  aheadMs += MINUTE;
  const first = await operator.until('demo', replaced);
  expect(mastersOf(first)).toEqual([1, 2, 4].map(ip));
  expect(sparesOf(first)).toEqual([ip(5)]);
  expect(first?.spec.policy?.replaceAfterMinutes).toBe(1);
  expect(first?.status).toMatchObject({ operation: { name: 'replace', requestId: 'remedy-127.0.0.3-2' } });
  expect(first?.metadata.annotations?.[annotations.requestedBy]).toBe('remediation');
  expect(events).toContain(
    'Remediation: control plane 127.0.0.3 has been away for 1 min or more; 127.0.0.4 takes its place, as spec.policy says',
  );

  await untilSays('True NobodyAway');
  await setMaster(2, false);
  await untilSays('False TooSoon');
  await pass(2 * MINUTE);
  expect(replacements()).toBe(1);
  expect(mastersOf(await operator.get('demo'))).toEqual([1, 2, 4].map(ip));
  // There was no probe during this day, so a control plane that is away counts as away from now.
  aheadMs += DAY;
  await untilSays('True ControlPlaneAway');
  await checksAgain(2);
  expect(replacements()).toBe(1);
  aheadMs += MINUTE;
  const second = await untilSays('False NoSpareHost');
  expect(mastersOf(second)).toEqual([1, 5, 4].map(ip));
  await operator.until('demo', (one) => replaced(one) && one?.status?.operation?.sequence === 3);
  expect(replacements()).toBe(2);
});

it('remediation does nothing while two control planes are away, and then restarts its timer', async () => {
  await create();
  await setMaster(3, false);
  await untilSays('True ControlPlaneAway');
  await setMaster(2, false);
  await untilSays('False SeveralAway');
  await pass(MINUTE);
  await pass(MINUTE);
  expect(replacements()).toBe(0);
  await setMaster(2, true);
  await untilSays('True ControlPlaneAway');
  await checksAgain(3);
  expect(replacements()).toBe(0);
  aheadMs += MINUTE;
  expect(mastersOf(await operator.until('demo', replaced))).toEqual([1, 2, 4].map(ip));
});

it('remediation ignores a control plane whose node is Ready, and pauses; a restart resets its timer', async () => {
  await create();
  await made.serveAt(ip(3), false);
  await operator.until(
    'demo',
    (one) => findCondition(one?.status?.conditions, 'ControlPlaneHealthy')?.status === 'False',
  );
  await pass(MINUTE);
  expect(says(await operator.get('demo'))).toBe('True NobodyAway');

  const key = { namespace: operator.namespace, name: 'demo' };
  const pause = (paused: boolean) =>
    operator.client.patch(KUBERNETES_CLUSTERS, key, { spec: { paused } }, { type: 'merge' });
  await pause(true);
  await setMaster(3, false);
  await untilSays('False Paused');
  await pass(MINUTE);
  expect(replacements()).toBe(0);

  await operator.stopController();
  await pause(false);
  aheadMs += MINUTE;
  await operator.restart();
  await untilSays('True ControlPlaneAway');
  await checksAgain(3);
  expect(replacements()).toBe(0);
  aheadMs += MINUTE;
  expect(mastersOf(await operator.until('demo', replaced))).toEqual([1, 2, 4].map(ip));
});

it('remediation tries no second spare after a failed replacement', async () => {
  fails = (job) => job.startsWith('replace-');
  await create();
  await setMaster(3, false);
  await untilSays('True ControlPlaneAway');
  await checksAgain(2);
  aheadMs += MINUTE;
  const failed = await operator.until(
    'demo',
    (one) => findCondition(one?.status?.conditions, 'Stalled')?.reason === 'OperationFailed',
  );
  expect(mastersOf(failed)).toEqual([1, 2, 4].map(ip));
  await pass(MINUTE);
  await pass(DAY);
  await pass(MINUTE);
  expect(says(await operator.get('demo'))).toBe('False NotUpToDate');
  expect(replacements()).toBe(1);
});
