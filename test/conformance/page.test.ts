import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { runningOperation } from '#api/testing/running-operation.ts';
import { keyPair } from '#base/testing/key-pair.ts';
import { sayOnStderr } from '#lab/artifacts/progress.ts';
import { ensurePackages } from '#lab/hosts/packages.ts';
import { buildPage } from '../../deploy/page.ts';
import { createLogger } from '../../src/base/log.ts';
import { type RestWorld, restWorld } from '../../src/server/testing/rest-world.ts';

/** The web page in a real browser, against a real server and API server. */

const CHROMIUM = '/usr/bin/chromium';
const MAX_SCRIPT_BYTES = 300_000;
const INSTALL_MS = 600_000;
/** Time for an element to appear, beside other tests. */
const WAIT_MS = 10_000;
let world: RestWorld;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let directory: string;
/** Address of the relay, behind which the server is. */
let url: string;
let relay: Awaited<ReturnType<typeof startRelay>>;
/** Requests to anything but the server, and errors on the console. */
let strays: string[] = [];

/** Passes connections on to a port, until it is cut. */
async function startRelay(to: number) {
  const sockets = new Set<Socket>();
  const server = createServer((inner) => {
    const outer = connect({ host: '127.0.0.1', port: to });
    for (const [one, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      sockets.add(one);
      one.on('error', () => {});
      one.once('close', () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  const listen = async (port: number): Promise<number> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    return typeof address === 'object' && address ? address.port : 0;
  };
  const port = await listen(0);
  return {
    port,
    /** Breaks all connections, and accepts no more: as a server that restarts. */
    async cut() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    mend: () => listen(port),
  };
}

beforeAll(async () => {
  await ensurePackages({ chromium: 'chromium' }, sayOnStderr);
  directory = await mkdtemp(join(tmpdir(), 'page-'));
  await buildPage(directory);
  world = await restWorld(createLogger('error'), undefined, directory);
  relay = await startRelay(Number(new URL(await world.app.listen({ host: '127.0.0.1', port: 0 })).port));
  url = `http://127.0.0.1:${relay.port}`;
  // The sandbox of Chromium needs another user than root.
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
}, INSTALL_MS);
afterAll(async () => {
  await browser?.close();
  await relay?.cut();
  await world?.stop();
  await rm(directory, { recursive: true, force: true });
});
beforeEach(async () => {
  context = await browser.newContext();
  context.setDefaultTimeout(WAIT_MS);
  page = await context.newPage();
  strays = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith('data:')) strays.push(request.url());
  });
  page.on('pageerror', (error) => strays.push(error.message));
});
afterEach(async () => {
  await context.close();
  expect(strays).toEqual([]);
});

async function login(token = world.tokens.alice): Promise<void> {
  await page.goto(url);
  await page.getByLabel(/^Token/).fill(token);
  await page.getByRole('button', { name: 'Log in' }).click();
  const namespace = page.getByLabel('Namespace');
  await namespace.fill(world.namespace);
  await namespace.press('Enter');
}

const make = (name: string, spec: object = {}) =>
  world.admin.create<KubernetesCluster>(KUBERNETES_CLUSTERS, {
    metadata: { namespace: world.namespace, name },
    spec: { cluster: { masterList: [{ ip: '10.9.0.1' }], ...spec } },
  });
const report = (name: string, status: object) =>
  world.admin.patch(
    KUBERNETES_CLUSTERS,
    { namespace: world.namespace, name },
    { status },
    { type: 'merge', subresource: 'status' },
  );

/** Creates a cluster with a key that alice may use again, as the controller leaves it. */
async function madeByAlice(name: string, body: object): Promise<void> {
  const path = `/region/default/cluster/${name}?namespace=${world.namespace}`;
  const hosts = { masterList: [{ ip: '10.9.0.60' }], privateSSHKey: keyPair().private };
  const { status } = await world.call(world.tokens.alice, 'POST', path, { ...hosts, ...body });
  expect(status).toBe(200);
  await world.created(name);
}

const findings = z.array(z.object({ id: z.string(), nodes: z.array(z.object({ html: z.string() })) }));
/** Returns what axe finds on the page as it is. */
async function violations(): Promise<string[]> {
  // The policy of the page allows no inline script. The debugger is not bound by it.
  await page.evaluate(axe.source);
  const found = findings.parse(await page.evaluate('axe.run().then(({ violations }) => violations)'));
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
}

it('is small, and loads nothing from elsewhere', async () => {
  const script = await readFile(join(directory, 'main.js'));
  expect(gzipSync(script, { level: 9 }).length).toBeLessThan(MAX_SCRIPT_BYTES);
  const answer = await world.app.inject({ url: '/', headers: { 'accept-encoding': 'gzip' } });
  expect(answer.headers).toMatchObject({
    'content-encoding': 'gzip',
    'content-security-policy': expect.stringContaining("default-src 'self'"),
  });
  const again = await world.app.inject({
    url: '/',
    headers: { 'if-none-match': String(answer.headers['etag']) },
  });
  expect(again.statusCode).toBe(304);
  await page.goto(url);
  expect(await page.title()).toBe('Matryoshka');
});

describe('the login', () => {
  it('says why a token is refused, and keeps none', async () => {
    await page.goto(url);
    await page.getByLabel(/^Token/).fill('nonsense');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').textContent()).toMatch(/token/);
    await page.reload();
    await page.getByRole('button', { name: 'Log in' }).waitFor();
    expect(await violations()).toEqual([]);
  });

  it('tells a user without rights in a namespace what to do', async () => {
    await login(world.tokens.mallory);
    const alert = page.getByRole('alert');
    await alert.waitFor();
    expect(await alert.textContent()).toMatch(/Name a namespace/);
  });
});

describe('the list of clusters', () => {
  it('shows clusters, changes as they happen, and what a search selects', async () => {
    await make('list-one');
    await report('list-one', { phase: 'Running', version: 'v1.35.4', nodes: { ready: 1, total: 1 } });
    await login();
    const rows = page.getByRole('row');
    await page.getByRole('link', { name: 'list-one' }).waitFor();
    expect(await rows.filter({ hasText: 'list-one' }).textContent()).toMatch(
      /RUNNING[\s\S]*v1\.35\.4[\s\S]*1\/1/i,
    );
    await make('list-two');
    await page.getByRole('link', { name: 'list-two' }).waitFor({ timeout: 1_000 });
    await report('list-two', {
      conditions: [
        {
          ...{ type: 'Stalled', status: 'True', reason: 'OperationFailed', message: 'no space' },
          lastTransitionTime: '2026-11-29T10:00:00Z',
        },
      ],
    });
    await page.getByText('Problems').click();
    await expect.poll(() => page.getByRole('link', { name: 'list-one' }).count()).toBe(0);
    await page.getByRole('link', { name: 'list-two' }).waitFor();
    await page.getByText('All', { exact: true }).click();
    await page.getByLabel('Search').fill('list-one running');
    await expect.poll(() => page.getByRole('link', { name: 'list-two' }).count()).toBe(0);
    expect(await page.getByRole('status').first().textContent()).toMatch(/^1 of \d+ clusters$/);
  });

  it('says that the server is away, and continues without a gap or a repeat', async () => {
    await login();
    await page.getByRole('link', { name: 'list-one' }).waitFor();
    await relay.cut();
    const banner = page.getByText('The server does not answer');
    await banner.waitFor();
    await make('list-three');
    await report('list-one', { phase: 'Failed' });
    await relay.mend();
    await page.getByRole('link', { name: 'list-three' }).waitFor();
    await banner.waitFor({ state: 'detached' });
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'list-one' }) });
    await row.filter({ hasText: /failed/i }).waitFor();
    expect(await row.count()).toBe(1);
  });

  it('reads nothing while it is hidden, and what it has missed when it is shown', async () => {
    await login();
    await page.getByRole('link', { name: 'list-one' }).waitFor();
    const streamEnds = page.waitForEvent('requestfailed', (request) =>
      request.url().includes('/clusters/events'),
    );
    const show = (isHidden: boolean) =>
      page.evaluate(
        `Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${isHidden} }); document.dispatchEvent(new Event('visibilitychange'))`,
      );
    await show(true);
    await streamEnds;
    await make('list-four');
    const begins = page.waitForRequest((request) => request.url().includes('/clusters/events'));
    await show(false);
    await begins;
    await page.getByRole('link', { name: 'list-four' }).waitFor();
  });

  it('has no findings of axe: light, dark and narrow', async () => {
    await login();
    await page.getByRole('link', { name: 'list-one' }).waitFor();
    expect(await violations()).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expect
      .poll(() => page.evaluate('document.documentElement.dataset.mantineColorScheme'))
      .toBe('dark');
    expect(await violations()).toEqual([]);
    await page.setViewportSize({ width: 375, height: 700 });
    expect(await violations()).toEqual([]);
    const width = z.number().parse(await page.evaluate('document.documentElement.scrollWidth'));
    expect(width).toBeLessThanOrEqual(375);
  });
});

describe('the page of a cluster', () => {
  it('shows hosts, conditions with the next step, and facts', async () => {
    await make('facts', { nodeList: [{ ip: '10.9.0.2', name: 'second' }] });
    await report('facts', {
      phase: 'Failed',
      conditions: [
        {
          ...{ type: 'Stalled', status: 'True', reason: 'OperationFailed', message: 'no space on 10.9.0.2' },
          lastTransitionTime: '2026-11-29T10:00:00Z',
        },
      ],
      certificatesExpire: new Date(Date.now() + 40 * 86_400_000).toISOString(),
    });
    await login();
    await page.getByRole('link', { name: 'facts' }).click();
    await page.getByText('no space on 10.9.0.2').first().waitFor();
    await page.getByText('Read the log, correct the cause, then choose Retry.').waitFor();
    await page.getByText('second').waitFor();
    expect(await violations()).toEqual([]);
    await page.getByRole('tab', { name: 'Conditions' }).click();
    await page.getByRole('cell', { name: 'Stalled' }).waitFor();
    await page.getByRole('tab', { name: 'Facts' }).click();
    await page.getByText(/expire in (39d|40d)/).waitFor();
    expect(await violations()).toEqual([]);
  });

  it('follows the running operation by host and task', async () => {
    await make('live');
    const id = 'livelivelv';
    await report('live', {
      phase: 'Creating',
      operation: runningOperation({ id, name: 'create', step: 'Prepare hosts', requestedBy: 'bob' }),
    });
    const attempt = await world.attempt(`create-${id}-1`, 'live');
    const token = await attempt.token();
    let offset = 0;
    const log = async (event: object) => {
      const line = `${JSON.stringify({ time: '2026-11-29T10:00:00Z', ...event })}\n`;
      const path = `/jobs/${attempt.job}/log?offset=${offset}`;
      await world.call(token, 'POST', path, line, { 'content-type': 'application/x-ndjson' });
      offset += Buffer.byteLength(line);
    };
    await login();
    await page.getByRole('link', { name: 'live', exact: true }).click();
    await page.getByText('bob runs create').waitFor();
    await log({ event: 'play', play: 'Prepare hosts' });
    await log({ event: 'start', host: '10.9.0.1', task: 'Install the runtime' });
    await page.getByRole('listitem').filter({ hasText: 'Prepare hosts' }).waitFor();
    await page.getByRole('cell', { name: 'Install the runtime' }).waitFor();
    await log({ event: 'failed', host: '10.9.0.1', task: 'Install the runtime', message: 'no space' });
    await page.getByText('failed: no space').waitFor();
    expect(await violations()).toEqual([]);
  });
});

describe('forms', () => {
  it('check what is typed, show the plan, and create exactly that', async () => {
    await login();
    await page.getByRole('link', { name: 'Create a cluster' }).click();
    await page.getByLabel(/^Name( \*)?$/).fill('from-page');
    const planes = page.getByLabel('Control planes');
    await planes.fill('10.9.0.300');
    await page.getByText(/10\.9\.0\.300.*is not an IP address/).waitFor();
    await planes.fill('10.9.0.50');
    await page.getByLabel('Private SSH key').fill(keyPair().private);
    await page.getByRole('region', { name: 'Plan' }).waitFor();
    expect(await violations()).toEqual([]);
    await page.getByRole('button', { name: 'Create the cluster' }).click();
    await page.getByRole('heading', { name: 'from-page' }).waitFor();
    const cluster = await world.cluster('from-page');
    expect(cluster?.metadata.annotations).toMatchObject({
      [annotations.operation]: 'creating',
      [annotations.plan]: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(cluster?.spec.cluster.masterList).toEqual([{ ip: '10.9.0.50' }]);
  });

  it('add a host to the present ones', async () => {
    await world.created('from-page');
    await login();
    await page.getByRole('link', { name: 'from-page' }).click();
    await page.getByRole('button', { name: 'Change' }).click();
    await page.getByRole('menuitem', { name: 'Add hosts' }).click();
    await page.getByLabel('Workers').fill('10.9.0.51 fifty-one');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('region', { name: 'Plan' }).waitFor();
    await dialog.getByRole('cell', { name: '10.9.0.51' }).waitFor();
    expect(await violations()).toEqual([]);
    await dialog.getByRole('button', { name: 'Add hosts' }).click();
    await dialog.waitFor({ state: 'detached' });
    const cluster = await world.cluster('from-page');
    expect(cluster?.metadata.annotations?.[annotations.operation]).toBe('scaling-up');
    expect(cluster?.spec.cluster.nodeList).toEqual([{ ip: '10.9.0.51', name: 'fifty-one' }]);
  });

  it('replace a host', async () => {
    await madeByAlice('replaced', { nodeList: [{ ip: '10.9.0.61' }] });
    await login();
    await page.getByRole('link', { name: 'replaced' }).click();
    await page.getByRole('button', { name: 'Change' }).click();
    await page.getByRole('menuitem', { name: 'Replace a host' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Host that leaves').fill('10.9.0.61');
    await dialog.getByLabel('Host that takes its place').fill('10.9.0.62');
    await dialog.getByRole('region', { name: 'Plan' }).waitFor();
    expect(await violations()).toEqual([]);
    await dialog.getByRole('button', { name: 'Replace a host' }).click();
    await dialog.waitFor({ state: 'detached' });
    const cluster = await world.cluster('replaced');
    expect(cluster?.metadata.annotations?.[annotations.operation]).toBe('replacing');
    expect(cluster?.spec.cluster.nodeList).toEqual([{ ip: '10.9.0.62' }]);
  });

  it('upgrade Kubernetes, only to a version that is offered', async () => {
    await madeByAlice('upgraded', { kubeVersion: 'v1.33.8' });
    await report('upgraded', { phase: 'Running', version: 'v1.33.8' });
    await login();
    await page.getByRole('link', { name: 'upgraded' }).click();
    await page.getByRole('button', { name: 'Change' }).click();
    await page.getByRole('menuitem', { name: 'Upgrade', exact: true }).click();
    const dialog = page.getByRole('dialog');
    const version = dialog.getByLabel('Kubernetes version');
    await version.fill('v1.40.0');
    await dialog.getByText(/v1\.34\.4/).waitFor();
    await version.fill('v1.34.4');
    await dialog.getByRole('region', { name: 'Plan' }).waitFor();
    expect(await violations()).toEqual([]);
    await dialog.getByRole('button', { name: 'Upgrade Kubernetes' }).click();
    await dialog.waitFor({ state: 'detached' });
    const cluster = await world.cluster('upgraded');
    expect(cluster?.metadata.annotations?.[annotations.operation]).toBe('updating');
    expect(cluster?.spec.cluster.kubeVersion).toBe('v1.34.4');
  });

  it('delete only a cluster whose name is typed', async () => {
    await make('doomed');
    await login();
    await page.getByRole('link', { name: 'doomed' }).click();
    await page.getByRole('button', { name: 'Change' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    const button = page.getByRole('dialog').getByRole('button', { name: 'Delete the cluster' });
    await page.getByRole('dialog').getByRole('region', { name: 'Plan' }).waitFor();
    expect(await button.isDisabled()).toBe(true);
    await page.getByLabel(/Type doomed to confirm/).fill('doomed');
    await button.click();
    await expect.poll(() => world.cluster('doomed')).toBeUndefined();
    await page.getByText('There is no such cluster').waitFor();
  });
});

it('can be used with the keyboard alone', async () => {
  await page.goto(url);
  await page.getByRole('button', { name: 'Log in' }).waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.type(world.tokens.alice);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Clusters' }).waitFor();
  const focused = async () => String(await page.evaluate('document.activeElement.textContent'));
  for (let tries = 0; tries < 20 && (await focused()) !== 'Create a cluster'; tries += 1)
    await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Create a cluster' }).waitFor();
});
