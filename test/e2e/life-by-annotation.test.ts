import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SECRETS, type Secret, secretData } from '#api/core.ts';
import { nodeNameOf } from '#api/host.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { readyNodesOf, untilCluster } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byNumber } from './by-number.ts';
import { openLane } from './lanes.ts';
import { asPlanned } from './plan-and-deed.ts';

const NAME = 'applied';
const OPERATION_MS = 8 * 60_000;

let meta: Meta;
beforeAll(async () => {
  meta = await openLane();
  const keys: Secret = {
    metadata: { namespace: 'default', name: 'applied-keys' },
    data: secretData({ username: 'root', 'ssh-privatekey': meta.privateKey }),
  };
  await meta.client.apply(SECRETS, keys, { fieldManager: 'e2e', force: true });
});
afterAll(() => meta.close());

const { entries } = byNumber(() => meta);

/** What a person does with a file: `kubectl apply --server-side`. */
async function apply(workers: number[], word: string, requestId: string): Promise<void> {
  const wanted: KubernetesCluster = {
    metadata: {
      namespace: 'default',
      name: NAME,
      annotations: { [annotations.operation]: word, [annotations.requestId]: requestId },
    },
    spec: {
      cluster: {
        masterList: entries(0),
        nodeList: entries(...workers),
        region: 'lab',
        credentialsSecret: 'applied-keys',
      },
    },
  };
  await meta.client.apply(KUBERNETES_CLUSTERS, wanted, { fieldManager: 'e2e', force: true });
}

const answered = (word: string) =>
  untilCluster(
    meta,
    NAME,
    (one) => one?.metadata.annotations?.[annotations.operation] === word && one.status?.phase === 'Running',
    OPERATION_MS,
  );

describe('the life of a cluster by apply and annotations alone', () => {
  it('comes', async () => {
    await asPlanned(meta, NAME, async () => {
      await apply([1], 'creating', 'one');
      await answered('create-finished');
    });
    expect(await readyNodesOf(meta, NAME)).toEqual(entries(0, 1).map(nodeNameOf).sort());
  });

  it('runs nothing twice', async () => {
    const before = (await untilCluster(meta, NAME, Boolean, 10_000))?.status?.operation?.sequence;
    await apply([1], 'creating', 'one');
    const after = await answered('create-finished');
    expect(after?.status?.operation?.sequence).toBe(before);
  });

  it('runs nothing for a copy under another name that carries its id', async () => {
    const original = await untilCluster(meta, NAME, Boolean, 10_000);
    const id = original?.metadata.annotations?.[annotations.clusterId] ?? '';
    const copy: KubernetesCluster = {
      metadata: {
        namespace: 'default',
        name: 'copy',
        annotations: { [annotations.operation]: 'creating', [annotations.clusterId]: id },
      },
      spec: original?.spec ?? { cluster: {} },
    };
    await meta.client.create(KUBERNETES_CLUSTERS, copy);
    const refused = await untilCluster(
      meta,
      'copy',
      (one) => one?.status?.conditions?.some(({ reason }) => reason === 'IdentityConflict') === true,
      30_000,
    );
    expect(refused?.status?.operation).toBeUndefined();
    await meta.client.delete(KUBERNETES_CLUSTERS, { namespace: 'default', name: 'copy' });
    await untilCluster(meta, 'copy', (one) => one === undefined, 30_000);
  });

  it('grows and shrinks', async () => {
    await asPlanned(meta, NAME, async () => {
      await apply([1, 2], 'scaling-up', 'two');
      await answered('scale-up-finished');
    });
    expect(await readyNodesOf(meta, NAME)).toEqual(entries(0, 1, 2).map(nodeNameOf).sort());
    await asPlanned(meta, NAME, async () => {
      await apply([1], 'scaling-down', 'three');
      await answered('scale-down-finished');
    });
    expect(await readyNodesOf(meta, NAME)).toEqual(entries(0, 1).map(nodeNameOf).sort());
  });

  it('goes when the word says so', async () => {
    await apply([1], 'terminating', 'four');
    await untilCluster(meta, NAME, (one) => one === undefined, OPERATION_MS);
  });
});
