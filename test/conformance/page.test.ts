import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HOSTS, hostRecordName } from '#api/host-record.ts';
import { runningOperation } from '#api/testing/running-operation.ts';
import { showPage } from './page.fixture.ts';

/** Views of the web page, also while the server is away, on narrow screens and by keyboard alone. */
const MAX_SCRIPT_BYTES = 300_000;
const shown = showPage();
const { login, make, report, violations } = shown;

it('is small, and loads nothing from elsewhere', async () => {
  const script = await readFile(join(shown.directory, 'main.js'));
  expect(gzipSync(script, { level: 9 }).length).toBeLessThan(MAX_SCRIPT_BYTES);
  const answer = await shown.world.app.inject({ url: '/', headers: { 'accept-encoding': 'gzip' } });
  expect(answer.headers).toMatchObject({
    'content-encoding': 'gzip',
    'content-security-policy': expect.stringContaining("default-src 'self'"),
  });
  const again = await shown.world.app.inject({
    url: '/',
    headers: { 'if-none-match': String(answer.headers['etag']) },
  });
  expect(again.statusCode).toBe(304);
  await shown.page.goto(shown.url);
  expect(await shown.page.title()).toBe('Matryoshka');
});

describe('the login', () => {
  it('says why a token is refused, and keeps none', async () => {
    await shown.page.goto(shown.url);
    await shown.page.getByLabel(/^Token/).fill('nonsense');
    await shown.page.getByRole('button', { name: 'Log in' }).click();
    await shown.page.getByRole('alert').waitFor();
    expect(await shown.page.getByRole('alert').textContent()).toMatch(/token/);
    await shown.page.reload();
    await shown.page.getByRole('button', { name: 'Log in' }).waitFor();
    expect(await violations()).toEqual([]);
  });

  it('tells a user without rights in a namespace what to do', async () => {
    await login(shown.world.tokens.mallory);
    const alert = shown.page.getByRole('alert');
    await alert.waitFor();
    expect(await alert.textContent()).toMatch(/Name a namespace/);
  });
});

describe('the list of clusters', () => {
  it('shows clusters, changes as they happen, and what a search selects', async () => {
    await make('list-one');
    await report('list-one', { phase: 'Running', version: 'v1.35.4', nodes: { ready: 1, total: 1 } });
    await login();
    const rows = shown.page.getByRole('row');
    await shown.page.getByRole('link', { name: 'list-one' }).waitFor();
    expect(await rows.filter({ hasText: 'list-one' }).textContent()).toMatch(
      /RUNNING[\s\S]*v1\.35\.4[\s\S]*1\/1/i,
    );
    await make('list-two');
    await shown.page.getByRole('link', { name: 'list-two' }).waitFor({ timeout: 1_000 });
    await report('list-two', {
      conditions: [
        {
          ...{ type: 'Stalled', status: 'True', reason: 'OperationFailed', message: 'no space' },
          lastTransitionTime: '2026-11-29T10:00:00Z',
        },
      ],
    });
    await shown.page.getByText('Problems').click();
    await expect.poll(() => shown.page.getByRole('link', { name: 'list-one' }).count()).toBe(0);
    await shown.page.getByRole('link', { name: 'list-two' }).waitFor();
    await shown.page.getByText('All', { exact: true }).click();
    await shown.page.getByLabel('Search').fill('list-one running');
    await expect.poll(() => shown.page.getByRole('link', { name: 'list-two' }).count()).toBe(0);
    expect(await shown.page.getByRole('status').first().textContent()).toMatch(/^1 of \d+ clusters$/);
  });

  it('says that the server is away, and continues without a gap or a repeat', async () => {
    await login();
    await shown.page.getByRole('link', { name: 'list-one' }).waitFor();
    await shown.relay.cut();
    const banner = shown.page.getByText('The server does not answer');
    await banner.waitFor();
    await make('list-three');
    await report('list-one', { phase: 'Failed' });
    await shown.relay.mend();
    await shown.page.getByRole('link', { name: 'list-three' }).waitFor();
    await banner.waitFor({ state: 'detached' });
    const row = shown.page
      .getByRole('row')
      .filter({ has: shown.page.getByRole('link', { name: 'list-one' }) });
    await row.filter({ hasText: /failed/i }).waitFor();
    expect(await row.count()).toBe(1);
  });

  it('reads nothing while it is hidden, and what it has missed when it is shown', async () => {
    await login();
    await shown.page.getByRole('link', { name: 'list-one' }).waitFor();
    const streamEnds = shown.page.waitForEvent('requestfailed', (request) =>
      request.url().includes('/clusters/events'),
    );
    const show = (isHidden: boolean) =>
      shown.page.evaluate(
        `Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${isHidden} }); document.dispatchEvent(new Event('visibilitychange'))`,
      );
    await show(true);
    await streamEnds;
    await make('list-four');
    const begins = shown.page.waitForRequest((request) => request.url().includes('/clusters/events'));
    await show(false);
    await begins;
    await shown.page.getByRole('link', { name: 'list-four' }).waitFor();
  });

  it('has no findings of axe: light, dark and narrow', async () => {
    await login();
    await shown.page.getByRole('link', { name: 'list-one' }).waitFor();
    expect(await violations()).toEqual([]);
    await shown.page.emulateMedia({ colorScheme: 'dark' });
    await expect
      .poll(() => shown.page.evaluate('document.documentElement.dataset.mantineColorScheme'))
      .toBe('dark');
    expect(await violations()).toEqual([]);
    await shown.page.setViewportSize({ width: 375, height: 700 });
    expect(await violations()).toEqual([]);
    const width = z.number().parse(await shown.page.evaluate('document.documentElement.scrollWidth'));
    expect(width).toBeLessThanOrEqual(375);
  });
});

describe('the page of a cluster', () => {
  it('downloads a kubeconfig, or says why there is none', async () => {
    await make('opened');
    await login();
    await shown.page.getByRole('link', { name: 'opened' }).click();
    await shown.page.getByRole('tab', { name: 'Facts' }).click();
    const button = shown.page.getByRole('button', { name: 'Download a kubeconfig' });
    await button.click();
    await shown.page.getByText('has no kubeconfig yet').waitFor();
    expect(await violations()).toEqual([]);
    // `user-kubeconfig.api.test.ts` tests what the server answers for a real cluster.
    await shown.page.route(/\/kubeconfig\?.*expirationSeconds=3600/, (route) =>
      route.fulfill({ contentType: 'application/yaml', body: 'kind: Config\n' }),
    );
    const [download] = await Promise.all([shown.page.waitForEvent('download'), button.click()]);
    expect(download.suggestedFilename()).toBe('opened.kubeconfig');
    expect(await readFile(await download.path(), 'utf8')).toBe('kind: Config\n');
  });

  it('shows hosts, conditions with the next step, and facts', async () => {
    await make('facts', { nodeList: [{ ip: '10.9.0.2', name: 'second' }] });
    await shown.world.created('facts');
    await shown.world.admin.patch(
      HOSTS,
      { namespace: shown.world.operatorNamespace, name: hostRecordName('10.9.0.2') },
      { status: { versions: { kubelet: 'v1.34.4', containerd: 'v2.1.5' } } },
      { type: 'merge', subresource: 'status' },
    );
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
    await shown.page.getByRole('link', { name: 'facts' }).click();
    await shown.page.getByText('no space on 10.9.0.2').first().waitFor();
    await shown.page.getByText('Read the log, correct the cause, then choose Retry.').waitFor();
    const second = shown.page.getByRole('listitem').filter({ hasText: 'second' });
    await second.getByText('containerd v2.1.5, kubelet v1.34.4').waitFor();
    expect(await violations()).toEqual([]);
    await shown.page.getByRole('tab', { name: 'Conditions' }).click();
    await shown.page.getByRole('cell', { name: 'Stalled' }).waitFor();
    await shown.page.getByRole('tab', { name: 'Facts' }).click();
    await shown.page.getByText(/expire in (39d|40d)/).waitFor();
    expect(await violations()).toEqual([]);
  });

  it('follows the running operation by host and task', async () => {
    await make('live');
    const id = 'livelivelv';
    const running = { id, name: 'create', requestedBy: 'bob' } as const;
    await report('live', {
      phase: 'Creating',
      operation: runningOperation({ ...running, step: 'starting' }),
    });
    const attempt = await shown.world.attempt(`create-${id}-1`, 'live');
    const token = await attempt.token();
    let offset = 0;
    const log = async (event: object) => {
      const line = `${JSON.stringify({ time: '2026-11-29T10:00:00Z', ...event })}\n`;
      const path = `/jobs/${attempt.job}/log?offset=${offset}`;
      await shown.world.call(token, 'POST', path, line, { 'content-type': 'application/x-ndjson' });
      offset += Buffer.byteLength(line);
    };
    // `test/conformance/requests.test.ts` and others read real records.
    let isRecorded = false;
    await shown.page.route(new RegExp(`/operations/${id}\\?`), (route) => {
      if (!isRecorded) return route.fulfill({ status: 404, json: {} });
      const steps = ['Prepare hosts', 'Start control plane'].map((name) => ({ name, hosts: [] }));
      return route.fulfill({ json: { id, plan: { hosts: [], steps } } });
    });
    await login();
    await shown.page.getByRole('link', { name: 'live', exact: true }).click();
    await shown.page.getByText('Create runs, requested by bob.').waitFor();
    isRecorded = true;
    await report('live', { operation: runningOperation({ ...running, step: 'Prepare hosts' }) });
    const later = (step: string) => shown.page.getByRole('listitem', { name: `${step}, not begun` });
    await later('Prepare hosts').waitFor();
    await log({ event: 'play', play: 'Prepare hosts' });
    await later('Prepare hosts').waitFor({ state: 'detached' });
    await later('Start control plane').waitFor();
    await log({ event: 'start', host: '10.9.0.1', task: 'Install the runtime' });
    await shown.page.getByRole('listitem').filter({ hasText: 'Prepare hosts' }).waitFor();
    await shown.page.getByRole('cell', { name: 'Install the runtime' }).waitFor();
    await shown.page.getByText('Task: Install the runtime').waitFor();
    await log({ event: 'failed', host: '10.9.0.1', task: 'Install the runtime', message: 'no space' });
    await shown.page.getByText('failed: no space').waitFor();
    expect(await violations()).toEqual([]);
  });
});

it('can be used with the keyboard alone', async () => {
  await shown.page.goto(shown.url);
  await shown.page.getByRole('button', { name: 'Log in' }).waitFor();
  await shown.page.keyboard.press('Tab');
  await shown.page.keyboard.type(shown.world.tokens.alice);
  await shown.page.keyboard.press('Enter');
  await shown.page.getByRole('heading', { name: 'Clusters' }).waitFor();
  const focused = async () => String(await shown.page.evaluate('document.activeElement.textContent'));
  for (let tries = 0; tries < 20 && (await focused()) !== 'Create a cluster'; tries += 1)
    await shown.page.keyboard.press('Tab');
  await shown.page.keyboard.press('Enter');
  await shown.page.getByRole('heading', { name: 'Create a cluster' }).waitFor();
});
