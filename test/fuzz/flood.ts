import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { Agent, request } from 'undici';
import { z } from 'zod';
import { sleep } from '#base/clock.ts';
import type { RestWorld } from '#server/testing/rest-world.ts';
import { type Served, startServer, startWebhook } from './server-program.ts';

/** Memory limits of the containers in deploy/manifests. */
const LIMIT_MIB = { server: 512, webhook: 384 } as const;
const P99_MS = 500;
const PER_SECOND = 1_000;
const ADMIT_MS = 50;
/** Duration of the measurement before the flood, which shows how slow a busy machine is anyway. */
const QUIET_MS = 5_000;

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;

const flooded = z.object({
  sent: z.number(),
  held: z.number(),
  answers: z.record(z.string(), z.number()),
});

/** Returns the peak resident memory of a process in MiB. */
function peakMib(pid: number): number {
  const kib = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib ?? Number.NaN) / 1024;
}

/** Returns an admission for which the webhook asks the API server for permissions, as for most. */
const review = (namespace: string) => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: {
    uid: '1',
    kind: { group: 'ecs.yun.com', kind: 'KubernetesCluster' },
    operation: 'CREATE',
    namespace,
    name: 'admitted',
    userInfo: { username: `system:serviceaccount:${namespace}:alice`, groups: ['system:authenticated'] },
    object: {
      metadata: { name: 'admitted', namespace },
      spec: { cluster: { masterList: [{ ip: '10.9.0.1' }] } },
    },
  },
});

/** Returns the duration of each admission until the signal aborts; a failed one counts as infinite. */
async function admissions({ url, caPath }: Served, namespace: string, over: AbortSignal): Promise<number[]> {
  const dispatcher = new Agent({ connect: { ca: readFileSync(caPath, 'utf8') } });
  const body = JSON.stringify(review(namespace));
  const headers = { 'content-type': 'application/json' };
  const took: number[] = [];
  const admit = async (): Promise<void> => {
    const began = performance.now();
    const answer = await request(`${url}/validate/kubernetesclusters`, {
      dispatcher,
      method: 'POST',
      headers,
      body,
      headersTimeout: 10_000,
    }).catch(() => undefined);
    await answer?.body.dump();
    took.push(answer?.statusCode === 200 ? performance.now() - began : Number.POSITIVE_INFINITY);
  };
  const under: Promise<void>[] = [];
  while (!over.aborted) {
    under.push(admit());
    await sleep(ADMIT_MS);
  }
  await Promise.all(under);
  await dispatcher.close();
  return took.sort((one, other) => one - other);
}

/**
 * Floods the REST API with requests without a valid token while the API server calls the webhook. Returns the problems: a
 * slow admission, a process that ended, memory above the limit.
 */
export async function flood(world: RestWorld, dir: string, seconds: number): Promise<string[]> {
  await using server = await startServer(world, dir);
  await using webhook = await startWebhook(world, dir);
  const quiet = await admissions(webhook, world.namespace, AbortSignal.timeout(QUIET_MS));
  process.stdout.write(`webhook before the flood: p99 ${at(quiet, 0.99).toFixed(0)} ms\n`);
  const over = new AbortController();
  const took = admissions(webhook, world.namespace, over.signal);
  const client = execa(process.execPath, [
    join(import.meta.dirname, 'flood-client.ts'),
    server.url,
    server.caPath,
    String(PER_SECOND),
    String(seconds),
  ]);
  const found: string[] = [];
  try {
    const { stdout } = await Promise.race([client, server.ended, webhook.ended]);
    const { sent, held, answers } = flooded.parse(JSON.parse(stdout));
    process.stdout.write(
      `flood: ${Math.round(sent / seconds)} requests a second, ${held} not sent; answers: ${JSON.stringify(answers)}\n`,
    );
    if (Object.keys(answers).some((answer) => /^5/.test(answer))) found.push('flood: a 5xx');
  } catch (error) {
    found.push(`flood: ${error instanceof Error ? error.message : error}`);
  } finally {
    over.abort(new Error('over'));
    client.kill();
  }
  const times = await took;
  const [p50, p99] = [at(times, 0.5), at(times, 0.99)];
  process.stdout.write(
    `webhook: ${times.length} admissions, p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms\n`,
  );
  if (!(p99 <= P99_MS)) found.push(`flood: the webhook took ${p99.toFixed(0)} ms (p99), more than ${P99_MS}`);
  for (const [name, { pid }] of Object.entries({ server, webhook })) {
    const limit = name === 'server' ? LIMIT_MIB.server : LIMIT_MIB.webhook;
    const peak = peakMib(pid);
    process.stdout.write(`${name}: ${peak.toFixed(0)} MiB resident at most, of ${limit}\n`);
    if (!(peak < limit)) found.push(`flood: ${name} took ${peak.toFixed(0)} MiB, and may have ${limit}`);
  }
  return found;
}
