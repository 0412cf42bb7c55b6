import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { nodeNameOf } from '#api/host.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import type { LabHost } from '#lab/hosts/places.ts';
import { readyNodesOf, untilCluster, untilDone } from '#lab/meta/cluster.ts';
import { faults, fenceJournal, seen } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { allowPods, joinMeta } from '#lab/meta/second-node.ts';
import { byNumber } from '../by-number.ts';
import { openLane, secondNode } from '../lanes.ts';
import { QUICK_KEYS } from '../quick-keys.ts';

const NAME = 'lost';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 10 * 60_000;
let meta: Meta;

const { host } = byNumber(() => meta);
const lists = () => ({ masterList: [{ ip: host(0).ip }], nodeList: [{ ip: host(1).ip }] });
const nodes = () => [host(0), host(1)].map(({ ip }) => nodeNameOf({ ip })).sort();
const create = () =>
  meta.rest.raw('POST', PATH, {
    name: NAME,
    ...lists(),
    kubeadm: QUICK_KEYS,
    privateSSHKey: meta.privateKey,
  });

describe('an attempt whose node is away', () => {
  beforeAll(async () => {
    meta = await openLane();
  });
  afterEach(async () => {
    await meta.rest.raw('DELETE', PATH);
    await untilCluster(meta, NAME, (one) => one === undefined, OPERATION_MS);
  });
  afterAll(() => meta.close());
  it('is followed by a successful attempt, and hosts refuse the first one later', async () => {
    const second = secondNode();
    await joinMeta(meta, second, () => {});
    await allowPods(meta.client, second.name, true);
    await allowPods(meta.client, 'meta', false);
    const idOf = (one: KubernetesCluster | undefined) => one?.metadata.annotations?.[annotations.clusterId];
    let id = '';
    const since = async (one: LabHost) => (await fenceJournal(one)).split(`taken ${id} 1.2`)[1] ?? '';
    try {
      await create();
      id = idOf(await untilCluster(meta, NAME, (one) => idOf(one) !== undefined, OPERATION_MS)) ?? '';
      await seen('containerd on the new host', () => faults.runs(host(0), 'containerd'));
      // Otherwise the kubelet may end the first attempt's pod, which is already deleted, before its next step.
      await faults.hangKubelet(second);
      await faults.pause(second);
      await allowPods(meta.client, 'meta', true);
      const next = async () => (await fenceJournal(host(0))).includes(`${id}.1.2.`);
      await seen('the second attempt at work', next, { boundMs: OPERATION_MS });
      await faults.unpause(second);
      // The next step of the first attempt is on the control plane. The fence refuses it there, so the attempt contacts no
      // worker.
      const refused = async () => /refused: StaleRun: .* 1\.2, .* 1\.1/.test(await since(host(0)));
      await seen('the refusal', refused);
    } finally {
      await allowPods(meta.client, 'meta', true);
      await faults.unpause(second).catch(() => {});
      await faults.thawKubelet(second);
      await allowPods(meta.client, second.name, false);
    }
    const cluster = await untilDone(meta, NAME, OPERATION_MS);
    expect(cluster.status?.operation?.attempt).toBe(2);
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes());
    for (const one of [host(0), host(1)]) {
      expect(await since(one)).toContain(`${id}.1.2.`);
      expect(await since(one)).not.toMatch(new RegExp(`Started .*${id}\\.1\\.1\\.`));
    }
  });
});
