import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { readyNodesOf, untilCluster } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byNumber } from './by-number.ts';
import { exampleOf, nodesOfSpec } from './examples.ts';
import { openLane } from './lanes.ts';
import { asPlanned } from './plan-and-result.ts';

const NAME = 'small';
const OPERATION_MS = 8 * 60_000;

let meta: Meta;
let example: KubernetesCluster;
beforeAll(async () => {
  meta = await openLane();
  example = await exampleOf('small.yaml', meta, [0, 1]);
});
afterAll(() => meta.close());

const { entries } = byNumber(() => meta);

/** Applies a file as a user does: `kubectl apply --server-side`. */
const applied = (wanted: KubernetesCluster) =>
  meta.client.apply(KUBERNETES_CLUSTERS, wanted, { fieldManager: 'e2e', force: true });
/** Applies the edited example: other workers beside its own, and an operation annotation. */
async function edited(workers: number[], word: string, requestId: string): Promise<KubernetesCluster> {
  const { metadata, spec } = example;
  const nodeList = [...(spec.cluster.nodeList ?? []), ...entries(...workers)];
  const asking = { [annotations.operation]: word, [annotations.requestId]: requestId };
  const wanted = {
    metadata: { ...metadata, annotations: asking },
    spec: { ...spec, cluster: { ...spec.cluster, nodeList } },
  };
  await applied(wanted);
  return wanted;
}

const answered = (word: string) =>
  untilCluster(
    meta,
    NAME,
    (one) => one?.metadata.annotations?.[annotations.operation] === word && one.status?.phase === 'Running',
    OPERATION_MS,
  );

describe('a cluster by apply and annotations alone', () => {
  it('is created from the example', async () => {
    await asPlanned(meta, NAME, async () => {
      await applied(example);
      await answered('create-finished');
    });
    expect(await readyNodesOf(meta, NAME)).toEqual(nodesOfSpec(example));
  });

  it('runs no operation twice', async () => {
    const before = (await untilCluster(meta, NAME, Boolean, 10_000))?.status?.operation?.sequence;
    await applied(example);
    const after = await answered('create-finished');
    expect(after?.status?.operation?.sequence).toBe(before);
  });

  it('refuses a copy under another name that carries its id', async () => {
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

  it('scales up and down', async () => {
    let grown = example;
    await asPlanned(meta, NAME, async () => {
      grown = await edited([2], 'scaling-up', 'two');
      await answered('scale-up-finished');
    });
    expect(await readyNodesOf(meta, NAME)).toEqual(nodesOfSpec(grown));
    await asPlanned(meta, NAME, async () => {
      await edited([], 'scaling-down', 'three');
      await answered('scale-down-finished');
    });
    expect(await readyNodesOf(meta, NAME)).toEqual(nodesOfSpec(example));
  });

  it('is deleted by the operation annotation', async () => {
    await edited([], 'terminating', 'four');
    await untilCluster(meta, NAME, (one) => one === undefined, OPERATION_MS);
  });
});
