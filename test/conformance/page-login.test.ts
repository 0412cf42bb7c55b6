import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Provider from 'oidc-provider';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { CLUSTER_ROLE_BINDINGS } from '#access/testing/accounts.ts';
import { createServerCertificates } from '#lab/apiserver/certificates.ts';
import { freePorts } from '#lab/apiserver/ports.ts';
import { sayOnStderr } from '#lab/artifacts/progress.ts';
import { ensurePackages } from '#lab/hosts/packages.ts';
import { buildPage } from '../../deploy/page.ts';
import { createLogger } from '../../src/base/log.ts';
import { oidcLogin } from '../../src/server/login/oidc.ts';
import { type RestWorld, restWorld } from '../../src/server/testing/rest-world.ts';

/** Login to the page by an OpenID Connect provider that the API server trusts; all of them are real. */

const CHROMIUM = '/usr/bin/chromium';
const INSTALL_MS = 600_000;
const WAIT_MS = 10_000;
const CLIENT_ID = 'matryoshka';
const CALLBACK = '/login/oidc/callback';
let world: RestWorld;
let identity: Server;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let directory: string;
let url: string;

/** Starts a provider in which every user exists, with an email address at example.com. */
async function startProvider(
  port: number,
  tls: { cert: string; key: string },
  redirectUrl: string,
): Promise<Server> {
  const provider = new Provider(`https://127.0.0.1:${port}`, {
    clients: [{ client_id: CLIENT_ID, redirect_uris: [redirectUrl], token_endpoint_auth_method: 'none' }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    // kube-apiserver reads the claims of the ID token.
    conformIdTokenClaims: false,
    cookies: { keys: ['of-a-test'] },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: async () => ({ sub: id, email: `${id}@example.com`, email_verified: true }),
    }),
  });
  const server = createServer(tls, provider.callback());
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

beforeAll(async () => {
  await ensurePackages({ chromium: 'chromium' }, sayOnStderr);
  directory = await mkdtemp(join(tmpdir(), 'page-login-'));
  await buildPage(directory);
  const [identityPort = 0, port = 0] = await freePorts(2);
  const { ca, cert, key } = await createServerCertificates();
  const caFile = join(directory, 'identity-ca.crt');
  await writeFile(caFile, ca);
  url = `https://127.0.0.1:${port}`;
  const [issuer, redirectUrl] = [`https://127.0.0.1:${identityPort}`, `${url}${CALLBACK}`];
  // The API server asks the provider for its keys when it starts.
  identity = await startProvider(identityPort, { cert, key }, redirectUrl);
  const flags = [
    `--oidc-issuer-url=${issuer}`,
    `--oidc-client-id=${CLIENT_ID}`,
    '--oidc-username-claim=email',
    `--oidc-ca-file=${caFile}`,
  ];
  const login = oidcLogin({ issuer, clientId: CLIENT_ID, redirectUrl, scopes: ['openid', 'email'], ca });
  world = await restWorld(createLogger('silent'), undefined, directory, { flags, login, tls: { cert, key } });
  await world.app.listen({ host: '127.0.0.1', port });
  await world.admin.create(CLUSTER_ROLE_BINDINGS, {
    metadata: { name: 'alice-by-email' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'alice@example.com' }],
  });
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
}, INSTALL_MS);
afterAll(async () => {
  await browser?.close();
  await world?.stop();
  identity?.close();
  identity?.closeAllConnections();
  await rm(directory, { recursive: true, force: true });
});
beforeEach(async () => {
  context = await browser.newContext({ ignoreHTTPSErrors: true });
  context.setDefaultTimeout(WAIT_MS);
  page = await context.newPage();
});
afterEach(() => context.close());

const toProvider = () => page.getByRole('button', { name: 'Log in with your organisation' }).click();

it('logs a user in, where the user was before', async () => {
  await page.goto(`${url}/#/create`);
  await toProvider();
  await page.getByPlaceholder(/login/i).fill('alice');
  await page.getByPlaceholder(/password/i).fill('any');
  await page.getByRole('button', { name: /sign-in/i }).click();
  await page.getByRole('button', { name: /continue/i }).click();
  await page.getByRole('heading', { name: 'Create a cluster' }).waitFor();
  expect(page.url()).toBe(`${url}/#/create`);
  await page.getByRole('button', { name: 'Log out' }).waitFor();
});

it('says that a user gave up at the provider', async () => {
  await page.goto(url);
  await toProvider();
  await page.getByRole('link', { name: /cancel/i }).click();
  expect(await page.getByRole('alert').textContent()).toMatch(/refuses the login/);
});

it('says that the API server refuses the token', async () => {
  await page.goto(url);
  await page.evaluate("sessionStorage.setItem('matryoshka-token', 'of a provider that it does not trust')");
  await page.reload();
  expect(await page.getByRole('alert').textContent()).toMatch(/token/);
  await page.getByLabel(/^Token/).waitFor();
});

it('takes no token that another page made up', async () => {
  await page.goto(`${url}/#${new URLSearchParams({ login: 'x'.repeat(36), token: world.tokens.alice })}`);
  expect(await page.getByRole('alert').textContent()).toMatch(/failed/);
  expect(page.url()).toBe(`${url}/`);
});

it('answers a callback without its login, or with a state of another login, by an error', async () => {
  const locationOf = async (query: string, cookie: string) =>
    (await world.app.inject({ url: `${CALLBACK}?${query}`, headers: { cookie } })).headers['location'];
  expect(await locationOf('code=x&state=y', '')).toBe('/#login-error=expired');
  const kept = { state: 'one', nonce: 'two', verifier: 'three', tab: 'x'.repeat(36) };
  const digest = createHash('sha256').update('one').digest('hex').slice(0, 16);
  const cookie = `__Host-matryoshka-login-${digest}=${Buffer.from(JSON.stringify(kept)).toString('base64url')}`;
  expect(await locationOf('code=x&state=other', cookie)).toBe('/#login-error=expired');
  expect(await locationOf('code=x&state=one', cookie)).toBe('/#login-error=failed');
});
