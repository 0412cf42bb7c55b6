import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { z } from 'zod';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { sayOnStderr } from '#lab/artifacts/progress.ts';
import { ensurePackages } from '#lab/hosts/packages.ts';
import { buildPage } from '../../deploy/page.ts';
import { createLogger } from '../../src/base/log.ts';
import { type RestWorld, restWorld } from '../../src/server/testing/rest-world.ts';
import { startRelay } from './relay.fixture.ts';

const CHROMIUM = '/usr/bin/chromium';
const INSTALL_MS = 600_000;
/** Time for an element to appear, beside other tests. */
const WAIT_MS = 10_000;
/** Colours of a transition that runs are not those of the page: axe would measure a contrast between them. */
const TRANSITIONS_END =
  'Promise.allSettled(document.getAnimations().filter((one) => one instanceof CSSTransition).map((one) => one.finished)).then(() => undefined)';
const findings = z.array(z.object({ id: z.string(), nodes: z.array(z.object({ html: z.string() })) }));

/** The web page in a real browser, against a real server and API server. */
interface Shown {
  world: RestWorld;
  /** The built page. */
  directory: string;
  /** Address of the relay, behind which the server is. */
  url: string;
  relay: Awaited<ReturnType<typeof startRelay>>;
}

/** Shows the page to the tests of a file. Its fields are there as soon as hooks have run. */
export function showPage() {
  let shown: Shown;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  /** Requests to anything but the server, and errors on the console. */
  let strays: string[] = [];

  beforeAll(async () => {
    await ensurePackages({ chromium: 'chromium' }, sayOnStderr);
    const directory = await mkdtemp(join(tmpdir(), 'page-'));
    await buildPage(directory);
    const world = await restWorld(createLogger('error'), undefined, directory);
    const relay = await startRelay(
      Number(new URL(await world.app.listen({ host: '127.0.0.1', port: 0 })).port),
    );
    shown = { world, directory, relay, url: `http://127.0.0.1:${relay.port}` };
    // The sandbox of Chromium needs another user than root.
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  }, INSTALL_MS);
  afterAll(async () => {
    await browser?.close();
    await shown?.relay.cut();
    await shown?.world.stop();
    if (shown) await rm(shown.directory, { recursive: true, force: true });
  });
  beforeEach(async () => {
    context = await browser.newContext();
    context.setDefaultTimeout(WAIT_MS);
    page = await context.newPage();
    strays = [];
    page.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(shown.url) && !url.startsWith('data:')) strays.push(url);
    });
    page.on('pageerror', (error) => strays.push(error.message));
  });
  afterEach(async () => {
    await context.close();
    expect(strays).toEqual([]);
  });

  return {
    get world() {
      return shown.world;
    },
    /** Each test has its own. */
    get page() {
      return page;
    },
    get directory() {
      return shown.directory;
    },
    get url() {
      return shown.url;
    },
    get relay() {
      return shown.relay;
    },

    async login(token = shown.world.tokens.alice): Promise<void> {
      await page.goto(shown.url);
      await page.getByLabel(/^Token/).fill(token);
      await page.getByRole('button', { name: 'Log in' }).click();
      const namespace = page.getByLabel('Namespace');
      await namespace.fill(shown.world.namespace);
      await namespace.press('Enter');
    },

    make: (name: string, spec: object = {}) =>
      shown.world.admin.create<KubernetesCluster>(KUBERNETES_CLUSTERS, {
        metadata: { namespace: shown.world.namespace, name },
        spec: { cluster: { masterList: [{ ip: '10.9.0.1' }], ...spec } },
      }),
    report: (name: string, status: object) =>
      shown.world.admin.patch(
        KUBERNETES_CLUSTERS,
        { namespace: shown.world.namespace, name },
        { status },
        { type: 'merge', subresource: 'status' },
      ),

    /** Returns what axe finds on the page as it is. */
    async violations(): Promise<string[]> {
      // The policy of the page allows no inline script. The debugger is not bound by it.
      await page.evaluate(axe.source);
      await page.evaluate(TRANSITIONS_END);
      const found = findings.parse(await page.evaluate('axe.run().then(({ violations }) => violations)'));
      return found.map(
        ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`,
      );
    },
  };
}
