import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sleep } from '#base/clock.ts';
import { createServerCertificates } from '#lab/apiserver/certificates.ts';
import { startOwned } from '#lab/apiserver/owned-process.ts';
import { freePorts } from '#lab/apiserver/ports.ts';
import type { RestWorld } from '#server/testing/rest-world.ts';

const READY_MS = 30_000;
const main = join(import.meta.dirname, '../../src/main.ts');

/** The server as it is started in a pod: a process of its own, over TLS, with the rights of its account. */
export async function startServer(
  { serverKubeconfig, operatorNamespace, reportsNamespace }: RestWorld,
  dir: string,
): Promise<{ url: string; caPath: string } & AsyncDisposable> {
  const { ca, cert, key } = await createServerCertificates();
  const files = {
    'ca.crt': ca,
    'tls.crt': cert,
    'tls.key': key,
    kubeconfig: serverKubeconfig,
    'artifacts.json': JSON.stringify({ baseUrl: 'http://127.0.0.1', releases: { 'v1.34.4': {} } }),
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text, { mode: 0o600 });
  const [port = 0, probePort = 0] = await freePorts(2);
  const flags = {
    kubeconfig: join(dir, 'kubeconfig'),
    namespace: operatorNamespace,
    'reports-namespace': reportsNamespace,
    'site-dir': dir,
    'cert-dir': dir,
    audiences: 'matryoshka',
    port,
    'probe-port': probePort,
  };
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  const server = await startOwned(process.execPath, [main, 'server', ...args], join(dir, 'server.log'));
  await Promise.race([server.ended, ready(`http://127.0.0.1:${probePort}/readyz`)]);
  return {
    url: `https://127.0.0.1:${port}`,
    caPath: join(dir, 'ca.crt'),
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
  throw new Error(`the server is not ready within ${READY_MS / 1_000} s`);
}
