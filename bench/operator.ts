import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { SUMS_FILE } from '#artifacts/catalogue.ts';
import { siteArtifacts } from '#artifacts/site.ts';
import { sleep } from '#base/clock.ts';
import { artifactsDir } from '#lab/artifacts/places.ts';
import { docker } from '#lab/hosts/docker.ts';
import type { Meta } from '#lab/meta/meta.ts';

const BUNDLE_TIMEOUT_MS = 120_000;
const LISTEN_MS = 20_000;
const CHECK_MS = 5;

/** Bundles the operator as its image has it, into a folder that is removed with the returned object. */
export async function bundledOperator(): Promise<{ dist: string } & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), 'matryoshka-bench-'));
  const dist = join(folder, 'dist');
  const bundle = join(import.meta.dirname, '../deploy/bundle.ts');
  await execa(process.execPath, [bundle, dist], { timeout: BUNDLE_TIMEOUT_MS, stdin: 'ignore' });
  return { dist, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port is free');
  return address.port;
}

const answers = async (url: string): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(1_000) }).then(
    ({ status }) => status === 200,
    () => false,
  );

/**
 * Measures the seconds from the start of a controller's process, from `dist`, until its /healthz answers. Its namespace does
 * not exist, so it never takes the lease of the meta cluster's controller.
 */
export async function secondsToListen({ kubeconfigPath, artifactsUrl }: Meta, dist: string): Promise<number> {
  const siteDir = await mkdtemp(join(tmpdir(), 'matryoshka-bench-'));
  const sums = await readFile(join(artifactsDir, SUMS_FILE), 'utf8');
  await writeFile(join(siteDir, 'artifacts.json'), JSON.stringify(siteArtifacts(artifactsUrl, sums)));
  const port = await freePort();
  const args = [
    join(dist, 'matryoshka.js'),
    'controller',
    `--kubeconfig=${kubeconfigPath}`,
    `--site-dir=${siteDir}`,
    `--probe-port=${port}`,
    '--namespace=bench-that-is-not-there',
    '--identity=bench',
    '--log-level=error',
  ];
  const start = performance.now();
  const child = execa(join(dist, 'node'), args, {
    stdin: 'ignore',
    reject: false,
    forceKillAfterDelay: 2_000,
  });
  let ended = false;
  child.finally(() => {
    ended = true;
  });
  try {
    while (!(await answers(`http://127.0.0.1:${port}/healthz`))) {
      if (ended) throw new Error(`the controller ended: ${(await child).stderr}`);
      if (performance.now() - start > LISTEN_MS) throw new Error(`no answer within ${LISTEN_MS / 1000} s`);
      await sleep(CHECK_MS);
    }
    return (performance.now() - start) / 1000;
  } finally {
    child.kill('SIGKILL');
    await child;
    await rm(siteDir, { recursive: true, force: true });
  }
}

/** Returns the resident memory of the controller in the meta cluster, in MiB. */
export async function residentMiB({ host }: Meta): Promise<number> {
  const ask =
    "sed -n 's/^VmRSS:[^0-9]*\\([0-9]*\\) kB$/\\1/p' /proc/$(pgrep -of 'matryoshka.js controller')/status";
  const kib = Number(await docker(['exec', host.name, 'sh', '-c', ask]));
  if (!(kib > 0)) throw new Error('no controller runs in the meta cluster');
  return kib / 1024;
}
