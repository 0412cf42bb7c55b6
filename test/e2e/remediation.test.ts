import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { docker } from '#lab/hosts/docker.ts';
import { readyNodesOf, untilCluster, untilDone } from '#lab/meta/cluster.ts';
import { faults } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byNumber } from './by-number.ts';
import { deleteCluster } from './deletion.ts';
import { openLane } from './lanes.ts';
import { tracesOn } from './traces.ts';
import { beginHistory } from './with-history.ts';

const NAME = 'mended';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 10 * 60_000;
/** Two looks, each half a minute after the one before, and some. */
const TOLD_MS = 3 * 60_000;
const [DEAD, WORKER, SPARE] = [2, 3, 4];

let meta: Meta;
let traces: (index: number) => Promise<string[]>;
let history: Awaited<ReturnType<typeof beginHistory>> | undefined;

beforeAll(async () => {
  meta = await openLane();
  traces = await tracesOn(meta);
});
afterAll(async () => {
  await history?.drop();
  await meta.close();
});

const { host, entries, nodes } = byNumber(() => meta);
const says = (cluster: KubernetesCluster | undefined, type: string): string => {
  const found = findCondition(cluster?.status?.conditions, type);
  return `${found?.status} ${found?.reason}`;
};
const untilSays = (type: string, wanted: string, timeoutMs = TOLD_MS) =>
  untilCluster(meta, NAME, (cluster) => says(cluster, type) === wanted, timeoutMs);

describe('a cluster with a spare host', () => {
  it('is made, and says what would be done', async () => {
    const body = {
      name: NAME,
      masterList: entries(0, 1, DEAD),
      nodeList: entries(WORKER),
      privateSSHKey: meta.privateKey,
    };
    expect(await meta.rest.raw('POST', PATH, body)).toMatchObject({ status: 200 });
    await untilDone(meta, NAME, OPERATION_MS);
    history = await beginHistory(meta, NAME, host(WORKER));
    const policy = { replaceFrom: entries(SPARE), replaceAfterMinutes: 1 };
    const key = { namespace: 'default', name: NAME };
    await meta.client.patch(KUBERNETES_CLUSTERS, key, { spec: { policy } }, { type: 'merge' });
    const ready = await untilSays('RemediationReady', 'True NobodyAway');
    // To order a replacement starts nothing.
    expect(ready?.metadata.annotations?.[annotations.operation]).toBe('create-finished');
    expect(says(ready, 'UpToDate')).toBe('True Applied');
    await untilSays('EtcdHealthy', 'True AllHealthy');
  });

  it('has a control plane that stays away replaced, and nobody asked', async () => {
    await faults.pause(host(DEAD));
    try {
      await untilSays('RemediationReady', 'True ControlPlaneAway');
      const cluster = await untilCluster(
        meta,
        NAME,
        (one) => /^replace-/.test(one?.metadata.annotations?.[annotations.operation] ?? ''),
        OPERATION_MS,
      );
      expect(cluster?.status).toMatchObject({ phase: 'Running', operation: { result: 'finished' } });
      expect(cluster?.spec.cluster.masterList).toEqual(entries(0, 1, SPARE));
      expect(cluster?.spec.policy?.replaceFrom).toEqual([]);
      expect(cluster?.metadata.annotations).toMatchObject({ [annotations.requestedBy]: 'remediation' });
      expect(says(cluster, 'RemediationReady')).toBe('False NoSpareHost');
      expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, WORKER, SPARE));
      await untilSays('ControlPlaneHealthy', 'True AllReady');
      // Of the time with two members a look may have told, and two in a row change the message.
      const ofEtcd = (one: KubernetesCluster | undefined) =>
        findCondition(one?.status?.conditions, 'EtcdHealthy');
      await untilCluster(
        meta,
        NAME,
        (one) => /^every member is healthy: 3,/.test(ofEtcd(one)?.message ?? ''),
        TOLD_MS,
      );
    } finally {
      await docker(['unpause', host(DEAD).name]);
    }
  });

  it('goes, with the host that came back too late; until then no request failed', async () => {
    await history?.end();
    await deleteCluster(meta, NAME);
    for (const index of meta.hosts.keys()) expect(await traces(index), host(index).name).toEqual([]);
  });
});
