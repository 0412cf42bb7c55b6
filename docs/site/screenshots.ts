/** Makes the pictures of the web page in docs/images, in Chromium, of a real server: `make screenshots`. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { runningOperation } from '#api/testing/running-operation.ts';
import { createLogger } from '#base/log.ts';
import { keyPair } from '#base/testing/key-pair.ts';
import { sayOnStderr } from '#lab/artifacts/progress.ts';
import { ensurePackages } from '#lab/hosts/packages.ts';
import { create } from '#operations/create.ts';
import { buildPage } from '../../deploy/page.ts';
import { restWorld } from '../../src/server/testing/rest-world.ts';

const IMAGES = join(import.meta.dirname, '../images');
const SIZE = { width: 1200, height: 720 };
const ID = 'livelivelv';
const PREPARE = 'Prepare hosts, start the control plane';
const minutesAgo = (minutes: number): string => new Date(Date.now() - minutes * 60_000).toISOString();

await ensurePackages({ chromium: 'chromium' }, sayOnStderr);
const directory = await mkdtemp(join(tmpdir(), 'screenshots-'));
await buildPage(directory);
const world = await restWorld(createLogger('error'), undefined, directory);
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--force-color-profile=srgb', '--font-render-hinting=none'],
});

/** Creates a cluster of these hosts, with what the controller reports of it. */
async function cluster(name: string, masters: number, workers: number, status: object): Promise<void> {
  const hosts = (from: number, count: number) =>
    Array.from({ length: count }, (_none, index) => ({ ip: `192.0.2.${from + index}` }));
  const network = 10 * name.length;
  const { namespace } = world;
  await world.admin.create<KubernetesCluster>(KUBERNETES_CLUSTERS, {
    metadata: { namespace, name },
    spec: { cluster: { masterList: hosts(network, masters), nodeList: hosts(network + masters, workers) } },
  });
  await world.admin.patch(
    KUBERNETES_CLUSTERS,
    { namespace, name },
    { status },
    { type: 'merge', subresource: 'status' },
  );
}

const running = (count: number, version = 'v1.34.4') => ({
  phase: 'Running',
  version,
  nodes: { ready: count, total: count },
  summary: 'All nodes are Ready',
  conditions: ['Ready', 'HostsReachable', 'CertificatesValid'].map((type) => ({
    ...{ type, status: 'True', reason: 'Healthy', message: '' },
    lastTransitionTime: minutesAgo(90),
  })),
});

try {
  await cluster('blue', 3, 2, running(5));
  await cluster('green', 1, 1, running(2, 'v1.33.8'));
  await cluster('staging', 1, 2, {
    phase: 'Failed',
    conditions: [
      {
        ...{ type: 'Stalled', status: 'True', reason: 'OperationFailed', message: '192.0.2.71: no space' },
        lastTransitionTime: minutesAgo(4),
      },
    ],
    summary: 'create failed: 192.0.2.71: no space',
  });
  const operation = runningOperation({
    ...{ id: ID, name: 'create', step: PREPARE, requestedBy: 'alice' },
    startedAt: minutesAgo(1),
  });
  await cluster('production', 3, 2, { phase: 'Creating', summary: `create: ${PREPARE}`, operation });
  const attempt = await world.attempt(`create-${ID}-1`, 'production');
  const token = await attempt.token();
  const events = [
    { event: 'play', play: 'Take hosts' },
    ...[100, 101, 102].map((host) => ({
      ...{ event: 'changed', host: `192.0.2.${host}`, task: 'Take the host', seconds: 0.4 },
    })),
    { event: 'play', play: PREPARE },
    { event: 'changed', host: '192.0.2.100', task: 'Install runtime, kubelet and images', seconds: 10.4 },
    { event: 'start', host: '192.0.2.101', task: 'Install runtime, kubelet and images' },
    { event: 'start', host: '192.0.2.102', task: 'Install runtime, kubelet and images' },
  ].map((event) => `${JSON.stringify({ time: minutesAgo(0.5), ...event })}\n`);
  await world.call(token, 'POST', `/jobs/${attempt.job}/log?offset=0`, events.join(''), {
    'content-type': 'application/x-ndjson',
  });

  const url = await world.app.listen({ host: '127.0.0.1', port: 0 });
  const context = await browser.newContext({ viewport: SIZE, colorScheme: 'light', reducedMotion: 'reduce' });
  const page = await context.newPage();
  // The record that the controller would write.
  const steps = create.planning.steps.map(({ name }) => ({ name, hosts: [] }));
  await page.route(new RegExp(`/operations/${ID}\\?`), (route) =>
    route.fulfill({ json: { id: ID, plan: { hosts: [], steps } } }),
  );
  const shot = (name: string) => page.screenshot({ path: join(IMAGES, `${name}.png`) });
  await page.goto(url);
  await page.getByLabel(/^Token/).fill(world.tokens.alice);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByLabel('Namespace').fill(world.namespace);
  await page.getByLabel('Namespace').press('Enter');
  await page.getByText('4 of 4 clusters').waitFor();
  await shot('clusters');
  await page.getByRole('link', { name: 'production' }).click();
  await page.getByRole('cell', { name: 'Install runtime, kubelet and images' }).first().waitFor();
  await shot('cluster');
  await page.goto(`${url}/#/create`);
  await page.getByLabel(/^Name( \*)?$/).fill('orange');
  await page.getByLabel('Control planes').fill('192.0.2.200');
  await page.getByLabel('Private SSH key').fill(keyPair().private);
  await page.getByRole('region', { name: 'Plan' }).waitFor();
  await shot('create');
} finally {
  await browser.close();
  await world.stop();
  await rm(directory, { recursive: true, force: true });
}
