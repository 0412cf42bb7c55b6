import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { newAccount } from '#access/testing/new-account.ts';
import { PODS } from '#api/core.ts';
import { systemClock } from '#base/clock.ts';
import { eventually } from '#base/testing/eventually.ts';
import { DEPLOYMENTS } from '#bootstrap/rollout.ts';
import { installCrds } from '#lab/apiserver/crds.ts';
import { useNamespace } from '#runtime/testing/test-namespace.ts';
import type { Finding } from '../cli/doctor.ts';
import { inspectInstallation } from './inspect-installation.ts';

/** Tests what `matryoshka doctor --kubeconfig` finds in a meta cluster: its objects are real, its pods never run. */
const test = useNamespace('doctor');
let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'doctor-'));
  await installCrds(test.client);
});
afterAll(() => rm(folder, { recursive: true }));

const containers = [{ name: 'main', image: 'matryoshka:1' }];

/** Creates a Deployment, and gives each of its two pods that status, as a kubelet does. */
async function program(name: string, status: object): Promise<void> {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers } };
  await test.client.create(DEPLOYMENTS, {
    metadata: { namespace: test.namespace, name },
    spec: { replicas: 2, selector: { matchLabels: labels }, template },
  });
  const pods = await eventually(async () => {
    const { items } = await test.client.list(PODS, {
      namespace: test.namespace,
      labelSelector: `app=${name}`,
    });
    return items.length === 2 ? items : undefined;
  });
  for (const { metadata } of pods)
    await test.client.patch(
      PODS,
      test.key(metadata.name ?? ''),
      { status },
      { type: 'merge', subresource: 'status' },
    );
}

/** Returns what was found about the Deployments, each in one line. */
async function deployments(kubeconfig: string): Promise<string[]> {
  const found = await inspectInstallation(kubeconfig, test.namespace, systemClock.now());
  const line = ({ what, problem }: Finding) => `${what} ${problem}`;
  return found.filter(({ what }) => what.startsWith('deployment ')).map(line);
}

it('names why the pods of a program do not run', async () => {
  const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-11-29T10:00:00Z' };
  await program('matryoshka-controller', { phase: 'Running', conditions: [ready] });
  const state = { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image "matryoshka:1"' } };
  const container = {
    name: 'main',
    image: 'matryoshka:1',
    imageID: '',
    ready: false,
    restartCount: 0,
    state,
  };
  await program('matryoshka-server', { containerStatuses: [container] });
  const unscheduled = { type: 'PodScheduled', status: 'False', message: '0/1 nodes are available' };
  await program('matryoshka-webhook', { conditions: [unscheduled] });
  await expect
    .poll(() => deployments(inject('kubeconfigPath')), { timeout: 10_000 })
    .toEqual([
      'deployment matryoshka-server 0 of 2 pods are available: ImagePullBackOff: Back-off pulling image "matryoshka:1"',
      'deployment matryoshka-webhook 0 of 2 pods are available: 0/1 nodes are available',
    ]);
});

it('reports what it may not read, and all that it may', async () => {
  const token = await newAccount(test.client, test.endpoint, test.namespace, [
    {
      namespace: test.namespace,
      rules: [
        { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get'] },
        { apiGroups: ['ecs.yun.com'], resources: ['kubernetesclusters'], verbs: ['list'] },
      ],
    },
  ]);
  const admin = z.looseObject({}).parse(parse(await readFile(inject('kubeconfigPath'), 'utf8')));
  const path = join(folder, 'kubeconfig');
  await writeFile(path, stringify({ ...admin, users: [{ name: 'admin', user: { token } }] }));
  expect(await deployments(path)).toEqual([
    'deployment matryoshka-server 0 of 2 pods are available',
    'deployment matryoshka-webhook 0 of 2 pods are available',
  ]);
  const found = await inspectInstallation(path, test.namespace, systemClock.now());
  const refused = found.filter(({ what }) => what === 'meta cluster');
  expect(refused.map(({ problem, fix }) => [/cannot list resource "(\w+)"/.exec(problem)?.[1], fix])).toEqual(
    [
      ['kubernetesclusters', 'use a kubeconfig of an administrator'],
      ['hosts', 'use a kubeconfig of an administrator'],
      ['nodes', 'use a kubeconfig of an administrator'],
    ],
  );
});

it('reports a meta cluster that does not answer once', async () => {
  const admin = await readFile(inject('kubeconfigPath'), 'utf8');
  const path = join(folder, 'away');
  await writeFile(path, admin.replace(/https:\/\/127\.0\.0\.1:\d+/, 'https://127.0.0.1:1'));
  const found = await inspectInstallation(path, test.namespace, systemClock.now());
  expect(found).toEqual([
    {
      what: 'meta cluster',
      problem: expect.stringContaining('ECONNREFUSED'),
      fix: expect.stringContaining(path),
    },
  ]);
});
