import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import axe from 'axe-core';
import pMap from 'p-map';
import { type Browser, chromium, type Page } from 'playwright-core';
import { z } from 'zod';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { createLogger } from '#base/log.ts';
import { ensurePackages } from '#lab/hosts/packages.ts';
import { buildPage } from '../../deploy/page.ts';
import { type RestWorld, restWorld } from '../../src/server/testing/rest-world.ts';
import { type Figure, median } from '../figures.ts';

/** Figures of the web page in a browser, and of the list that it and the command line read. */

const CHROMIUM = '/usr/bin/chromium';
const CLUSTERS = 5_000;
const LISTED = 1_000;
const LIST_PAGE = 500;
const RUNS = 15;
const PAINTS = 5;
const EVENTS = 10;
const FRAMES = 300;
const SLOW_FRAME_MS = 50;
const WAIT_MS = 120_000;

type Say = (line: string) => void;

const nameOf = (index: number): string => `demo-${String(index).padStart(4, '0')}`;

/** Creates clusters as a site has them, with status. */
async function fill({ admin, namespace }: RestWorld): Promise<void> {
  const all = Array.from({ length: CLUSTERS }, (_none, index) => index);
  await pMap(
    all,
    async (index) => {
      const [second, third] = [Math.floor(index / 250), (index % 250) + 1];
      await admin.create<KubernetesCluster>(KUBERNETES_CLUSTERS, {
        metadata: { namespace, name: nameOf(index), labels: index < LISTED ? { listed: 'yes' } : {} },
        spec: {
          cluster: {
            masterList: [1, 2, 3].map((last) => ({ ip: `10.${last}.${second}.${third}` })),
            nodeList: [4, 5].map((last) => ({ ip: `10.${last}.${second}.${third}` })),
            kubeVersion: 'v1.34.4',
          },
        },
      });
      const status = {
        phase: 'Running',
        version: 'v1.34.4',
        nodes: { ready: 5, total: 5 },
        summary: 'All nodes are Ready',
        conditions: ['Ready', 'HostsReachable', 'CertificatesValid', 'EtcdHealthy'].map((type) => ({
          ...{ type, status: 'True', reason: 'Healthy', message: 'as it should be' },
          lastTransitionTime: '2026-11-29T10:00:00Z',
        })),
      };
      const key = { namespace, name: nameOf(index) };
      await admin.patch(KUBERNETES_CLUSTERS, key, { status }, { type: 'merge', subresource: 'status' });
    },
    { concurrency: 16 },
  );
}

/** Compares the list of 1,000 clusters, page by page, with one serialisation of the same objects, in turn. */
async function listFigure(world: RestWorld): Promise<Figure> {
  const { call, namespace, tokens } = world;
  const listed = z.object({ items: z.array(z.unknown()), continue: z.string().optional() });
  const list = async (): Promise<unknown[]> => {
    const items: unknown[] = [];
    let from = '';
    do {
      const query = `namespace=${namespace}&labelSelector=listed%3Dyes&limit=${LIST_PAGE}${from}`;
      const page = listed.parse((await call(tokens.alice, 'GET', `/clusters?${query}`)).body);
      items.push(...page.items);
      from = page.continue === undefined ? '' : `&continue=${encodeURIComponent(page.continue)}`;
    } while (from !== '');
    return items;
  };
  const items = await list();
  if (items.length !== LISTED) throw new Error(`the list has ${items.length} clusters, not ${LISTED}`);
  const [ours, peer]: [number[], number[]] = [[], []];
  for (let run = 0; run < RUNS; run += 1) {
    let begun = performance.now();
    await list();
    ours.push(performance.now() - begun);
    begun = performance.now();
    JSON.stringify({ items });
    peer.push(performance.now() - begun);
  }
  return {
    name: `list of ${LISTED} clusters, one JSON serialisation as peer (ms)`,
    ours: median(ours),
    peer: median(peer),
    bound: 1.5,
  };
}

/** Returns the milliseconds from the start of a navigation to the first paint, in a browser without a cache. */
async function firstPaint(browser: Browser, url: string): Promise<number> {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    await page.goto(url);
    await page.getByRole('button', { name: 'Log in' }).waitFor();
    // The button may be there before the paint is recorded.
    const painted = await page.waitForFunction(
      "performance.getEntriesByName('first-contentful-paint')[0]?.startTime",
      undefined,
      { timeout: WAIT_MS },
    );
    return z.number().parse(await painted.jsonValue());
  } finally {
    await context.close();
  }
}

async function openList(browser: Browser, url: string, { tokens, namespace }: RestWorld): Promise<Page> {
  const page = await browser.newPage();
  page.setDefaultTimeout(WAIT_MS);
  await page.goto(url);
  await page.getByLabel(/^Token/).fill(tokens.alice);
  await page.getByRole('button', { name: 'Log in' }).click();
  const field = page.getByLabel('Namespace');
  await field.fill(namespace);
  await field.press('Enter');
  await page.getByText(`${CLUSTERS} of ${CLUSTERS} clusters`).waitFor();
  return page;
}

/** Returns the milliseconds from writes of a status to their sight. */
async function eventsOnScreen(page: Page, { admin, namespace }: RestWorld): Promise<number[]> {
  const times: number[] = [];
  for (let turn = 0; turn < EVENTS; turn += 1) {
    const summary = `seen in turn ${turn}`;
    const key = { namespace, name: nameOf(turn % 3) };
    const begun = performance.now();
    await admin.patch(
      KUBERNETES_CLUSTERS,
      key,
      { status: { summary } },
      { type: 'merge', subresource: 'status' },
    );
    await page.getByText(summary, { exact: true }).first().waitFor();
    times.push(performance.now() - begun);
  }
  return times;
}

/** Returns the share of frames that took longer than 50 ms while the list was scrolled, in percent. */
async function slowFrames(page: Page): Promise<number> {
  const deltas = z.array(z.number()).parse(
    await page.evaluate(`new Promise((resolve) => {
      const scroller = document.querySelector('[role=rowgroup]');
      const deltas = [];
      let before = performance.now();
      const frame = (now) => {
        deltas.push(now - before);
        before = now;
        scroller.scrollTop += 400;
        if (deltas.length < ${FRAMES}) requestAnimationFrame(frame);
        else resolve(deltas.slice(1));
      };
      requestAnimationFrame(frame);
    })`),
  );
  return (100 * deltas.filter((ms) => ms > SLOW_FRAME_MS).length) / deltas.length;
}

export async function pageFigures(say: Say): Promise<Figure[]> {
  await ensurePackages({ chromium: 'chromium' }, say);
  const directory = await mkdtemp(join(tmpdir(), 'people-page-'));
  await buildPage(directory);
  const script = gzipSync(await readFile(join(directory, 'main.js')), { level: 9 }).length / 1000;
  const world = await restWorld(createLogger('error'), undefined, directory);
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  try {
    const url = await world.app.listen({ host: '127.0.0.1', port: 0 });
    const paints: number[] = [];
    for (let turn = 0; turn < PAINTS; turn += 1) paints.push(await firstPaint(browser, url));
    say(`${CLUSTERS} clusters …`);
    await fill(world);
    const list = await listFigure(world);
    const page = await openList(browser, url, world);
    const seen = await eventsOnScreen(page, world);
    const slow = await slowFrames(page);
    await page.evaluate(axe.source);
    const findings = z
      .array(z.unknown())
      .parse(await page.evaluate('axe.run().then(({ violations }) => violations)'));
    return [
      { name: 'page: compressed script (kB)', ours: script, bound: 300 },
      { name: `page: first paint, slowest of ${PAINTS} (ms)`, ours: Math.max(...paints), bound: 1000 },
      { name: `page: event on screen, slowest of ${EVENTS} (ms)`, ours: Math.max(...seen), bound: 1000 },
      { name: `page: frames above ${SLOW_FRAME_MS} ms with ${CLUSTERS} clusters (%)`, ours: slow, bound: 5 },
      { name: `page: findings of axe with ${CLUSTERS} clusters`, ours: findings.length, bound: 0 },
      list,
    ];
  } finally {
    await browser.close();
    await world.stop();
    await rm(directory, { recursive: true, force: true });
  }
}
