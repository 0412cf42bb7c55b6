import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { z } from 'zod';
import { goToolchain } from '../artifacts/go.ts';
import { cacheDir } from '../artifacts/places.ts';
import { announced, type Say } from '../artifacts/progress.ts';

const BUILD_MS = 15 * 60_000;
const END_MS = 5 * 60_000;
const BINARY = '/root/history';
const KUBECONFIG = '/root/history.conf';

const reportSchema = z.object({
  /** Number of reads and writes that were answered, or may have been done. */
  operations: z.int(),
  /** Requests that failed after client-go's usual retries, each with its time and reason. */
  failed: z.array(z.string()).nullable(),
  attempts: z.int(),
  /** Number of retries. */
  again: z.int(),
  slowestMs: z.int(),
  /** Time of that request's first attempt, UTC. */
  slowestAt: z.string(),
  /** Porcupine's verdict: `Ok`, `Illegal`, or `Unknown` if its time was too short. */
  linearizable: z.enum(['Ok', 'Illegal', 'Unknown']),
});
export type HistoryReport = z.infer<typeof reportSchema>;

/** Compiles the program, once. The first time takes minutes of both processors. */
export async function buildHistory(say: Say): Promise<string> {
  const binary = join(cacheDir, 'bin', 'lab-history');
  const go = await goToolchain();
  await announced(say, 'go build lab/history', () =>
    execa(go, ['build', '-o', binary, '.'], {
      cwd: import.meta.dirname,
      env: { GOTOOLCHAIN: 'auto', CGO_ENABLED: '0' },
      timeout: BUILD_MS,
      stdin: 'ignore',
    }),
  );
  return binary;
}

/**
 * Starts writes and reads through the API servers, by the endpoint name that a host of the cluster uses. Five clients each
 * pause that long after a write. Returns a function that ends this and returns the result of the requests.
 */
export async function startHistory(
  host: string,
  kubeconfig: string,
  pauseMs: number,
  say: Say,
): Promise<() => Promise<HistoryReport>> {
  const put = (path: string, input: Buffer | string) =>
    execa('docker', ['exec', '-i', host, 'sh', '-c', `umask 077; cat > ${path} && chmod 700 ${path}`], {
      input,
      timeout: 60_000,
    });
  await put(BINARY, await readFile(await buildHistory(say)));
  await put(KUBECONFIG, kubeconfig);
  const script = `server=https://$(awk '/# matryoshka/ { print $2; exit }' /etc/hosts):6443
${BINARY} --kubeconfig ${KUBECONFIG} --server "$server" --pause ${pauseMs}ms; code=$?
rm -f ${BINARY} ${KUBECONFIG}; exit $code`;
  const run = execa('docker', ['exec', '-i', host, 'sh', '-c', script], { buffer: true, reject: false });
  await new Promise<void>((resolve, reject) => {
    run.stderr.on('data', (text: Buffer) => {
      if (text.toString().includes('begun')) resolve();
    });
    void run.then(({ stderr }) => reject(new Error(`the history did not begin: ${stderr}`)));
  });
  return async () => {
    const late = setTimeout(() => run.kill(), END_MS);
    run.stdin.end();
    const { stdout, stderr } = await run;
    clearTimeout(late);
    const line = stdout.trim();
    if (line === '') throw new Error(`the history ended without a report: ${stderr}`);
    return reportSchema.parse(JSON.parse(line));
  };
}
