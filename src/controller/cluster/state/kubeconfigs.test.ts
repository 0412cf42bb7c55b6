import { beforeEach, expect, it } from 'vitest';
import { ownerReferenceTo } from '#api/cluster-facts.ts';
import { SECRETS, secretData } from '#api/core.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations, labels } from '#api/names.ts';
import { createManualClock, type ManualClock } from '#base/testing/manual-clock.ts';
import { clientOver } from '#runtime/client/client.ts';
import { ApiError } from '#runtime/wire/api-error.ts';
import { createKubeconfigs, type Kubeconfigs } from './kubeconfigs.ts';

const text = 'users: [{name: a, user: {token: t}}]';
const key = { namespace: 'n', name: 'demo' };
const cluster = (marked: object = {}): KubernetesCluster => ({
  metadata: { ...key, uid: 'u1', generation: 1, ...marked },
  spec: { cluster: {} },
});

/** The Secret in the cluster's namespace, and how often it was read. */
let kept: object | ApiError;
const secretOwnedBy = (...uids: string[]) => ({
  kind: SECRETS.kind,
  metadata: {
    labels: { [labels.purpose]: 'access' },
    ownerReferences: uids.map((uid) => ({ ...ownerReferenceTo(cluster()), uid })),
  },
  data: secretData({ value: text }),
});
let checks: number;
let clock: ManualClock;
let kubeconfigs: Kubeconfigs;
const client = clientOver({
  async call({ method }) {
    if (method !== 'GET') return { metadata: { resourceVersion: '1' } };
    checks += 1;
    if (kept instanceof ApiError) throw kept;
    return kept;
  },
  stream: () => Promise.reject(new Error('not here')),
  close: async () => {},
});
const probe = async (marked?: object) => (await kubeconfigs.of(client, cluster(marked), clock.now())).kind;

beforeEach(() => {
  kept = secretOwnedBy('u1');
  checks = 0;
  clock = createManualClock();
  kubeconfigs = createKubeconfigs(clock);
});

it('reads the Secret once, again after a change of the object, and after five minutes', async () => {
  expect([await probe(), await probe(), checks]).toEqual(['present', 'present', 1]);
  await probe({
    annotations: { [annotations.operation]: 'create-finished', [annotations.appliedSpec]: '{}' },
  });
  expect(checks).toBe(1);
  await probe({ labels: { a: 'b' } });
  await probe({ labels: { a: 'b' } });
  expect(checks).toBe(2);
  await clock.advance(300_000);
  await probe({ labels: { a: 'b' } });
  expect(checks).toBe(3);
});

it('caches the kubeconfig that it wrote until an operation starts', async () => {
  await kubeconfigs.keep(client, cluster(), text);
  expect([await probe(), checks]).toEqual(['present', 0]);
  kubeconfigs.forget(key);
  expect([await probe(), checks]).toEqual(['present', 1]);
});

it('does not cache a missing or invalid kubeconfig', async () => {
  await kubeconfigs.keep(client, cluster(), text);
  await kubeconfigs.keep(client, cluster(), '<html>');
  kept = new ApiError('NotFound', 'not there', { status: 404 });
  expect([await probe(), await probe(), checks]).toEqual(['missing', 'missing', 2]);
});

it('reports that it may not read the Secret, and reads again', async () => {
  kept = new ApiError('Forbidden', 'no', { status: 403 });
  expect([await probe(), await probe(), checks]).toEqual(['hidden', 'hidden', 2]);
});

it('ignores a Secret of a former object of that name, or without an owner', async () => {
  kept = secretOwnedBy('u0');
  expect(await probe()).toBe('missing');
  kept = secretOwnedBy();
  expect(await probe()).toBe('foreign');
});

it('writes the kubeconfig with another address, and caches it', async () => {
  const at = (address: string) =>
    `clusters: [{name: a, cluster: {server: "https://${address}:6443"}}]\n${text}\n`;
  kept = { ...secretOwnedBy('u1'), data: secretData({ value: at('10.0.0.1') }) };
  await kubeconfigs.point(client, cluster(), '10.0.0.2');
  expect(await kubeconfigs.of(client, cluster(), clock.now())).toMatchObject({
    server: 'https://10.0.0.2:6443',
  });
});
