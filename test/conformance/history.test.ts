import { afterEach, beforeEach, expect, inject, it } from 'vitest';
import { CONFIG_MAPS } from '#api/core.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations, labels } from '#api/names.ts';
import { placeOfRequest, type Span } from '#tracing/span.ts';
import { KUBECONFIG, startOperator, type TestOperator } from '../worlds/operator.ts';

let operator: TestOperator;
let spans: Span[];

beforeEach(async () => {
  spans = [];
  operator = await startOperator(
    inject('kubeconfigPath'),
    () => ({ kind: 'report', success: true, kubeconfig: KUBECONFIG }),
    { addSpan: (span) => spans.push(span) },
  );
});
afterEach(() => operator.stop());

const spec = (round: number, history: number): KubernetesCluster['spec'] => ({
  history,
  cluster: {
    masterList: [{ ip: '10.248.0.1' }],
    nodeList: [{ ip: '10.248.0.2', labels: { round: String(round) } }],
  },
});
/** Carries out the next operation and returns its id. */
async function next(round: number, history: number): Promise<string> {
  const [asked, done] = round === 1 ? ['creating', 'create-finished'] : ['relabeling', 'relabel-finished'];
  await operator.apply('demo', spec(round, history), asked, String(round));
  const cluster = await operator.until(
    'demo',
    (now) =>
      now?.metadata.annotations?.[annotations.operation] === done &&
      now.status?.operation?.sequence === round,
  );
  return cluster?.status?.operation?.id ?? '';
}
async function records(): Promise<string[]> {
  const { items } = await operator.client.list(CONFIG_MAPS, {
    namespace: operator.namespace,
    labelSelector: `${labels.purpose}=record`,
  });
  return items.map(({ metadata }) => metadata.name ?? '').sort();
}

it('keeps the records of as many operations as spec.history says, and prunes when it shrinks', async () => {
  const ids: string[] = [];
  for (const round of [1, 2, 3, 4]) ids.push(await next(round, 3));
  expect(await records()).toEqual(
    ids
      .slice(1)
      .map((id) => `kube-relabel-${id}`)
      .sort(),
  );
  const last = await next(5, 1);
  expect(await records()).toEqual([`kube-relabel-${last}`]);
});

it('makes a span of each operation, below that of its REST request', async () => {
  const requestId = '7'.repeat(32);
  await operator.apply('traced', spec(1, 3), 'creating', requestId);
  const cluster = await operator.until(
    'traced',
    (now) => spans.length > 0 && now?.status?.phase === 'Running',
  );
  const { id = '', startedAt = '' } = cluster?.status?.operation ?? {};
  const request = placeOfRequest(requestId);
  expect(spans).toEqual([
    expect.objectContaining({
      traceId: request.traceId,
      parentSpanId: request.spanId,
      name: 'create',
      startMs: Date.parse(startedAt),
      isError: false,
      attributes: {
        'matryoshka.cluster': `${operator.namespace}/traced`,
        'matryoshka.operation': id,
        'matryoshka.attempts': 1,
        'matryoshka.result': 'finished',
      },
    }),
  ]);
});
