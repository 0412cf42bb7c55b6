import { afterAll, beforeAll, expect, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { createLogger } from '#base/log.ts';
import { kstatusOf } from '#lab/kstatus/run.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { createInformer } from '#runtime/cache/informer.ts';
import { byKubectl } from './by-kubectl.ts';
import { absentHost, openLane } from './lanes.ts';

const NAME = 'watched';
let meta: Meta;
const stop = new AbortController();
/** Every version of the object that a watch shows, in order. */
const versions: KubernetesCluster[] = [];
beforeAll(async () => {
  meta = await openLane();
  const selection = { namespace: 'default', fieldSelector: `metadata.name=${NAME}` };
  const log = createLogger('silent');
  const informer = createInformer<KubernetesCluster>({
    client: meta.client,
    resource: KUBERNETES_CLUSTERS,
    selection,
    log,
  });
  const keep = (one: KubernetesCluster) => versions.push(one);
  informer.addHandler({ add: keep, update: (_before, after) => keep(after) });
  void informer.run(stop.signal);
  await informer.whenSynced();
});
afterAll(async () => {
  stop.abort(new Error('seen'));
  await meta.close();
});

const is = (one: KubernetesCluster, type: string) =>
  findCondition(one.status?.conditions, type)?.status === 'True';
const withKind = (one: KubernetesCluster) => ({
  apiVersion: 'ecs.yun.com/v1',
  kind: 'KubernetesCluster',
  ...one,
});

it('is in progress while something runs or was edited, current after it, failed when a person must act', async () => {
  const shell = byKubectl(meta, NAME);
  await shell.giveKeys();
  const [master] = meta.hosts.map(({ ip }) => ({ ip }));
  if (!master) throw new Error('the lab has no host');
  await shell.apply({ masters: [master], word: 'creating' });
  await shell.waitUpToDate();
  await shell.apply({ masters: [{ ...master, labels: { rack: 'r1' } }] });
  await shell.waitUpToDate();
  await shell.apply({ masters: [{ ...master, labels: { rack: 'r1' } }], workers: [{ ip: absentHost() }] });
  await shell.untilStalled('OperationFailed', 90_000);
  await shell.apply({ masters: [{ ...master, labels: { rack: 'r1' } }] });
  await shell.run(['delete', 'ecs', NAME, '--wait=false']);
  await shell.untilGone(240_000);

  // Before the controller has seen it the object says nothing, and kstatus takes that for done.
  const told = versions.filter(({ status }) => status?.observedGeneration !== undefined);
  const said = await kstatusOf(told.map(withKind), () => {});
  const wanted = told.map((one) => {
    if (one.metadata.deletionTimestamp) return 'Terminating';
    if (one.status?.observedGeneration !== one.metadata.generation) return 'InProgress';
    if (is(one, 'Stalled')) return 'Failed';
    return is(one, 'UpToDate') ? 'Current' : 'InProgress';
  });
  expect(said).toEqual(wanted);
  const course = said.filter((text, index) => text !== said[index - 1]).join(' ');
  expect(course).toMatch(/^InProgress Current InProgress Current InProgress Failed .*Terminating$/);
});
