import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sleep } from '#base/clock.ts';
import { createServerCertificates } from '#lab/apiserver/certificates.ts';
import { startOwned } from '#lab/apiserver/owned-process.ts';
import { freePorts } from '#lab/apiserver/ports.ts';
import type { RestWorld } from '#server/testing/rest-world.ts';

const READY_MS = 30_000;
const main = join(import.meta.dirname, '../../src/main.ts');

/** A serving program and its process. */
export interface Served extends AsyncDisposable {
  url: string;
  caPath: string;
  pid: number;
  /** Rejects as soon as the process exits by itself. */
  ended: Promise<never>;
}

/** Starts the server, with the permissions of its ServiceAccount. */
export const startServer = (world: RestWorld, dir: string): Promise<Served> =>
  startProgram('server', world, dir, {
    'reports-namespace': world.reportsNamespace,
    audiences: 'matryoshka',
  });

/** Starts the webhook with the permissions of the server's ServiceAccount, which has more than the webhook's. */
export const startWebhook = (world: RestWorld, dir: string): Promise<Served> =>
  startProgram('webhook', world, dir, {});

/** Starts a program as a pod does: a separate process, over TLS. */
async function startProgram(
  name: 'server' | 'webhook',
  { serverKubeconfig, operatorNamespace }: RestWorld,
  parent: string,
  more: Readonly<Record<string, string>>,
): Promise<Served> {
  const dir = await mkdtemp(join(parent, `${name}-`));
  const { ca, cert, key } = await createServerCertificates();
  const files = {
    'ca.crt': ca,
    'tls.crt': cert,
    'tls.key': key,
    kubeconfig: serverKubeconfig,
    'artifacts.json': JSON.stringify({ baseUrl: 'http://127.0.0.1', releases: { 'v1.34.4': {} } }),
  };
  for (const [file, text] of Object.entries(files)) await writeFile(join(dir, file), text, { mode: 0o600 });
  const [port = 0, probePort = 0] = await freePorts(2);
  const flags = {
    kubeconfig: join(dir, 'kubeconfig'),
    namespace: operatorNamespace,
    'site-dir': dir,
    'cert-dir': dir,
    port,
    'probe-port': probePort,
    ...more,
  };
  const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
  // The heap limit as in a pod with 512 MiB.
  const command = ['--max-old-space-size=333', main, name, ...args];
  const server = await startOwned(process.execPath, command, join(dir, `${name}.log`));
  const { pid, ended } = server;
  if (pid === undefined) throw new Error(`${name} has no process`);
  await Promise.race([ended, ready(`http://127.0.0.1:${probePort}/readyz`)]);
  return {
    url: `https://127.0.0.1:${port}`,
    caPath: join(dir, 'ca.crt'),
    pid,
    ended,
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

async function ready(url: string): Promise<void> {
  const began = performance.now();
  while (performance.now() - began < READY_MS) {
    const answer = await fetch(url, { signal: AbortSignal.timeout(1_000) }).catch(() => undefined);
    if (answer?.ok) return;
    await sleep(100);
  }
  throw new Error(`the program is not ready within ${READY_MS / 1_000} s`);
}
