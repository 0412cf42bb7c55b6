import { afterEach, beforeEach, expect, inject, it } from 'vitest';
import { KUBERNETES_CLUSTERS, type KubernetesCluster, type Spec } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { systemClock } from '#base/clock.ts';
import { KUBECONFIG, startOperator, type TestOperator } from '../worlds/operator.ts';

/** Snapshots by a schedule, on a real API server, with a clock that the test moves. */
const MINUTE_MS = 60_000;
const spec: Spec = {
  cluster: { masterList: [{ ip: '10.247.0.1' }], nodeList: [{ ip: '10.247.0.2' }] },
  etcdSnapshots: { schedule: '0 * * * *' },
};

let operator: TestOperator;
let aheadMs: number;
let events: string[];
beforeEach(async () => {
  aheadMs = 0;
  events = [];
  operator = await startOperator(
    inject('kubeconfigPath'),
    () => ({ kind: 'report', success: true, kubeconfig: KUBECONFIG }),
    {
      clock: { ...systemClock, now: () => new Date(Date.now() + aheadMs) },
      snapshotClaim: 'snapshots',
      onEvent: (reason, message) => events.push(`${reason}: ${message}`),
    },
  );
});
afterEach(() => operator.stop());

let touched = 0;
/** Lets the controller look at the cluster again: its timers do not follow the test's clock. */
async function touch(): Promise<void> {
  touched += 1;
  const labels = { touched: String(touched) };
  const key = { namespace: operator.namespace, name: 'demo' };
  await operator.client.patch<KubernetesCluster>(
    KUBERNETES_CLUSTERS,
    key,
    { metadata: { labels } },
    { type: 'merge' },
  );
}
const untilEnded = (word: string, sequence: number) =>
  operator.until(
    'demo',
    (now) =>
      now?.metadata.annotations?.[annotations.operation] === word &&
      now.status?.operation?.sequence === sequence,
  );

it('are saved at their time, once for each time, in the name of the schedule', async () => {
  await operator.apply('demo', spec, 'creating', '1');
  await untilEnded('create-finished', 1);
  await touch();
  expect((await operator.get('demo'))?.status?.operation?.name).toBe('create');

  // An hour, and the delay by which clusters do not begin all at once.
  aheadMs += 75 * MINUTE_MS;
  await touch();
  const saved = await untilEnded('snapshot-finished', 2);
  expect(saved?.metadata.annotations).toMatchObject({ [annotations.requestedBy]: 'schedule' });
  expect(saved?.status?.operation).toMatchObject({ name: 'snapshot', result: 'finished' });
  expect(events).toContain('ScheduledSnapshot: a snapshot is saved, as spec.etcdSnapshots.schedule says');
  const asked = Date.parse(saved?.metadata.annotations?.[annotations.snapshotAskedAt] ?? '');
  expect(Math.abs(asked - Date.now() - aheadMs)).toBeLessThan(MINUTE_MS);

  await touch();
  await operator.until('demo', (now) => now?.metadata.labels?.['touched'] === String(touched));
  expect((await operator.get('demo'))?.status?.operation?.sequence).toBe(2);
  aheadMs += 75 * MINUTE_MS;
  await touch();
  await untilEnded('snapshot-finished', 3);
});

it('are not requested while the cluster is paused', async () => {
  await operator.apply('demo', spec, 'creating', '1');
  await untilEnded('create-finished', 1);
  await operator.apply('demo', { ...spec, paused: true });
  aheadMs += 75 * MINUTE_MS;
  await touch();
  await operator.until('demo', (now) => now?.metadata.labels?.['touched'] === String(touched));
  expect(events.filter((event) => event.startsWith('ScheduledSnapshot'))).toEqual([]);
  await operator.apply('demo', { ...spec, paused: false });
  await untilEnded('snapshot-finished', 2);
});
