import { afterAll, beforeAll, expect, it } from 'vitest';
import { NODES, type Node, PODS, type Pod, VOLUME_CLAIMS } from '#api/core.ts';
import { type Clock, systemClock } from '#base/clock.ts';
import type { Client } from '#runtime/client/client.ts';
import { useAddon } from '../../testing/addon-world.fixture.ts';
import { beginLife, FATES, type Fate, type Lived, livesThat } from '../../testing/every-write.fixture.ts';
import { within } from '../../testing/seeing.fixture.ts';
import { workspace } from '../addon.ts';
import { WORKSPACES, type Workspace, type WorkspaceSpec } from '../api.ts';
import { runKubelet } from '../testing/workspace-kubelet.fixture.ts';

/**
 * Runs a scenario in which the controller dies before or after each of its writes, or in which the answer to each is lost. A
 * new controller takes over, and the end is always the same. Only the test moves the controller's clock.
 */
const test = useAddon({ ...workspace, module: () => [] });
const MINUTE_MS = 60_000;
let client: Client;
let stopKubelet: (() => Promise<void>) | undefined;

beforeAll(async () => {
  client = await test.clientAs('matryoshka-workspace');
  const name = `${test.namespace}-node`;
  await test.client.create<Node>(NODES, { metadata: { name } });
  stopKubelet = runKubelet(test.client, test.namespace, name);
});
afterAll(async () => {
  await stopKubelet?.();
  await client.close();
  await test.client.delete(NODES, { namespace: '', name: `${test.namespace}-node` });
});

const until = (probe: () => Promise<unknown>) => expect.poll(probe, { timeout: 60_000, interval: 30 });

async function live(name: string, fate?: Fate): Promise<Lived> {
  const key = test.key(name);
  let aheadMs = MINUTE_MS;
  const clock: Clock = { ...systemClock, now: () => new Date(systemClock.now().getTime() + aheadMs) };
  await using life = beginLife({
    ...{ client, clock, namespace: test.namespace, fate },
    sight: (resource) => ({
      selection: {
        ...within(test.namespace)(resource).selection,
        ...(resource.kind === WORKSPACES.kind ? { fieldSelector: `metadata.name=${name}` } : {}),
      },
    }),
    module: () => workspace.module,
  });
  const get = () => test.client.get<Workspace>(WORKSPACES, key);
  const change = (spec: { [field in keyof WorkspaceSpec]?: WorkspaceSpec[field] | null }) =>
    test.client.patch<Workspace>(WORKSPACES, key, { spec }, { type: 'merge' });
  const podOf = () => test.client.find<Pod>(PODS, key);
  const claimUid = async () => (await test.client.get(VOLUME_CLAIMS, key)).metadata.uid;
  const states = async () => {
    const { metadata, spec, status = {} } = await get();
    const isNew = status.observedGeneration === metadata.generation;
    return { running: spec.running, isNew, phase: status.phase, port: status.port };
  };
  const runs = { running: true, isNew: true, phase: 'Running' };
  const podRuns = async (besides?: string) => {
    const { metadata, status } = (await podOf()) ?? {};
    const isAnother = metadata !== undefined && metadata.uid !== besides;
    return isAnother && status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True');
  };

  const spec = { image: 'editor', port: 8080, storage: { size: '1Gi' } };
  const { uid } = (await test.client.create<Workspace>(WORKSPACES, { metadata: key, spec })).metadata;
  await until(states).toEqual({ ...runs, port: 8080 });
  const first = (await podOf())?.metadata.uid;
  const volume = await claimUid();
  const evicted = { status: { phase: 'Failed', reason: 'Evicted' } };
  await test.client.patch(PODS, key, evicted, { type: 'strategic', subresource: 'status' });
  await until(() => podRuns(first)).toBe(true);
  // The status may still describe the first pod, and idle time counts from when this pod becomes ready.
  for (let times = 0; times < 3; times += 1) if ((await life.writesAtRest()).length === 0) break;
  await until(states).toEqual({ ...runs, port: 8080 });
  aheadMs += 2 * MINUTE_MS;
  await change({ idleStopMinutes: 1 });
  await until(states).toEqual({ running: false, isNew: true, phase: 'Stopped', port: undefined });
  const reported = (await life.writesAtRest()).map((one) => `${one} though nothing was to be done`);
  if (await podOf()) reported.push('a pod is there though it is stopped');
  await change({ running: true, idleStopMinutes: null, port: 9090 });
  await until(states).toEqual({ ...runs, port: 9090 });
  reported.push(...(await life.writesAtRest()).map((one) => `${one} though nothing was to be done`));
  if ((await claimUid()) !== volume) reported.push('its volume is another');
  for (const kind of [PODS, VOLUME_CLAIMS]) {
    const owners = (await test.client.get(kind, key)).metadata.ownerReferences ?? [];
    if (owners.find(({ controller }) => controller)?.uid !== uid)
      reported.push(`its ${kind.kind} would stay`);
  }
  await change({ ttlMinutes: 1 });
  await until(() => test.client.find(WORKSPACES, key)).toBeUndefined();
  return { writes: life.writes, isMet: life.isMet, reported };
}

it.each(FATES)(
  'the scenario has the same end whichever write the controller %s',
  async (kind) => {
    const { met, wrong } = await livesThat(kind, live);
    expect(wrong).toEqual([]);
    // At least: volume, pod, status; pod removed, created, status; stopped, removed, status; created, status; removed.
    expect(met).toBeGreaterThanOrEqual(12);
  },
  300_000,
);

it('no pod and no volume of any scenario is left', async () => {
  const left = async () => {
    const where = { namespace: test.namespace };
    const [pods, claims] = [
      await test.client.list(PODS, where),
      await test.client.list(VOLUME_CLAIMS, where),
    ];
    // Kubernetes protects a volume while a pod uses it, and the controller that ends the protection does not run here.
    const present = claims.items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    return [...pods.items, ...present].map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  };
  // The garbage collector discovers new kinds every 30 s.
  await expect.poll(left, { timeout: 100_000 }).toEqual([]);
}, 120_000);
