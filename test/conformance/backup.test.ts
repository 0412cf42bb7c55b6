import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { identityToRecipient } from 'age-encryption';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { JOBS, type Job, SECRETS, type Secret } from '#api/core.ts';
import { HOSTS, type HostRecord } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { type Backup, readBackup, writeBackup } from '#backup/backup-file.ts';
import { collect } from '#backup/collect.ts';
import { differences } from '#backup/compare.ts';
import { type Loaded, load } from '#backup/load.ts';
import { sleep } from '#base/clock.ts';
import { type ApiServer, startApiServer } from '#lab/apiserver/start.ts';
import { newIdentity } from '#snapshots/seal.ts';
import { KUBECONFIG, startOperator, type TestOperator } from '../worlds/operator.ts';

/** Clusters of one meta cluster are loaded into another one, where the operator continues with them. */

const CLUSTERS = 20;
const LABEL = { 'example.com/backup': 'yes' };
const names = Array.from({ length: CLUSTERS }, (_of, index) => `cluster-${index}`);
/** This one has an operation under way when the backup is made. */
const [BUSY = ''] = names;
let [former, next]: TestOperator[] = [];
let server: (ApiServer & AsyncDisposable) | undefined;
let [dir, file, identity] = ['', '', ''];
let backup: Backup | undefined;
let loaded: Loaded | undefined;

const script = (job: string) =>
  job.startsWith('scale-up')
    ? ({ kind: 'hang' } as const)
    : ({ kind: 'report', success: true, kubeconfig: KUBECONFIG } as const);

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'backup-'));
  file = join(dir, 'meta.age');
  identity = await newIdentity();
  former = await startOperator(inject('kubeconfigPath'), script);
  server = await startApiServer();
  next = await startOperator(server.kubeconfigPath, script, { label: 'example.com/backup=yes' });
});
afterAll(async () => {
  await next?.stop();
  await former?.stop();
  await server?.stop();
  await rm(dir, { recursive: true, force: true });
});

const both = () => {
  if (!former || !next) throw new Error('there are no operators');
  return { former, next };
};
const specOf = (name: string, workers = 1): KubernetesCluster['spec'] => {
  const net = names.indexOf(name) + 1;
  const host = (last: number) => ({ ip: `10.210.${net}.${last}` });
  return {
    cluster: {
      masterList: [host(1)],
      nodeList: Array.from({ length: workers }, (_of, index) => host(index + 2)),
    },
  };
};
const word = (cluster: KubernetesCluster | undefined) =>
  cluster?.metadata.annotations?.[annotations.operation];
const there = async (name: string) => {
  const { former: from, next: to } = both();
  return to.client.get<KubernetesCluster>(KUBERNETES_CLUSTERS, { namespace: from.namespace, name });
};
/** Returns the names of the Jobs that the operator has started in the new meta cluster. */
const jobs = async () => {
  const { next: to } = both();
  const { items } = await to.client.list<Job>(JOBS, { namespace: to.operatorNamespace });
  return items.map(({ metadata }) => metadata.name ?? '');
};
const poll = async (name: string, holds: (cluster: KubernetesCluster) => boolean) => {
  for (let cluster = await there(name); !holds(cluster); cluster = await there(name)) await sleep(100);
};

it('saves twenty clusters, one of them in the middle of an operation', async () => {
  const { former: from } = both();
  for (const name of names) await from.apply(name, specOf(name), 'creating');
  for (const name of names) await from.until(name, (one) => word(one) === 'create-finished');
  await from.apply(BUSY, specOf(BUSY, 2), 'scaling-up', 'more');
  await from.until(BUSY, (one) => {
    const { name, step } = one?.status?.operation ?? {};
    return name === 'scale-up' && step !== 'starting';
  });
  await from.stopController();
  for (const name of names)
    await from.client.patch(
      KUBERNETES_CLUSTERS,
      { namespace: from.namespace, name },
      { metadata: { labels: LABEL } },
      { type: 'merge' },
    );
  const content = await collect(from.client, from.operatorNamespace, new Date());
  // Other tests have clusters on this API server.
  const own = (objects: readonly object[]) =>
    objects.filter((one) => JSON.stringify(one).includes(`"namespace":"${from.namespace}"`));
  const ours = own(content.clusters);
  expect(ours).toHaveLength(CLUSTERS);
  const [secrets, configMaps] = [own(content.secrets), own(content.configMaps)];
  const backedUp = { ...content, clusters: ours, secrets, configMaps };
  await writeBackup(file, backedUp, await identityToRecipient(identity));
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await readFile(file)).includes(Buffer.from('PRIVATE KEY'))).toBe(false);
});

it('is read with its key only', async () => {
  await expect(readBackup(file, await newIdentity())).rejects.toThrow('cannot be decrypted');
  backup = await readBackup(file, identity);
  expect(backup.states.length).toBeGreaterThanOrEqual(CLUSTERS);
});

it('is loaded into another meta cluster, where each cluster is paused', async () => {
  const { former: from, next: to } = both();
  await to.stopController();
  if (!backup) throw new Error('no backup');
  loaded = await load(to.client, backup, to.operatorNamespace);
  // A second time changes nothing, as after a try that was interrupted.
  expect(await load(to.client, backup, to.operatorNamespace)).toEqual(loaded);
  expect(loaded.clusters.map(({ wasPaused }) => wasPaused)).toEqual(names.map(() => false));
  await to.restart();
  for (const name of names) {
    const cluster = await there(name);
    expect(cluster.spec.paused, name).toBe(true);
    const old = await from.get(name);
    expect(cluster.metadata.annotations?.[annotations.clusterId]).toBe(
      old?.metadata.annotations?.[annotations.clusterId],
    );
    expect(cluster.status?.version).toBe(old?.status?.version);
  }
  const { items } = await to.client.list<HostRecord>(HOSTS, { namespace: to.operatorNamespace });
  expect(items.length).toBeGreaterThanOrEqual(2 * CLUSTERS);
  // The kubeconfig belongs to the new object, so that it is removed with it.
  const [name = ''] = names;
  const key = { namespace: from.namespace, name: `${name}-kubeconfig` };
  const secret = await to.client.get<Secret>(SECRETS, key);
  expect(secret.metadata.ownerReferences?.map(({ uid }) => uid)).toEqual([(await there(name)).metadata.uid]);
  expect(await jobs()).toEqual([]);
});

it('says why a cluster cannot be compared', async () => {
  const { former: from, next: to } = both();
  const found = await differences(to.client, { namespace: from.namespace, name: BUSY }, to.operatorNamespace);
  expect(found.join()).toContain('its kubeconfig is not in the backup, or has no credentials');
});

it('starts no run for clusters that were at rest, and continues the operation that was not', async () => {
  const { former: from, next: to } = both();
  for (const name of names)
    await to.client.patch(
      KUBERNETES_CLUSTERS,
      { namespace: from.namespace, name },
      { spec: { paused: null } },
      { type: 'merge' },
    );
  const running = ({ status, metadata }: KubernetesCluster) =>
    status?.observedGeneration === metadata.generation && status?.phase === 'Running';
  for (const name of names) if (name !== BUSY) await poll(name, running);
  await poll(BUSY, ({ status }) => (status?.operation?.attempt ?? 0) > 1);
  while ((await jobs()).length === 0) await sleep(100);
  expect((await jobs()).every((job) => /^scale-up-.*-2$/.test(job))).toBe(true);
});

it('is not loaded beside another cluster of the same name', async () => {
  const { former: from, next: to } = both();
  if (!backup) throw new Error('no backup');
  const other = {
    ...backup,
    clusters: backup.clusters.map((one) => ({
      ...one,
      metadata: { ...one.metadata, annotations: { [annotations.clusterId]: 'another' } },
    })),
  };
  await expect(load(to.client, other, to.operatorNamespace)).rejects.toThrow(
    `cluster ${from.namespace}/${BUSY} is there, and is another one`,
  );
});
