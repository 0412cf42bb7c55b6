import fc from 'fast-check';
import { z } from 'zod';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import type { RestWorld } from '#server/testing/rest-world.ts';
import { type FuzzRequest, requests } from './requests.ts';

const AT_ONCE = 16;
const errorAnswer = z.object({ code: z.string(), message: z.string().min(1) });

/** Returns the problem of a response; undefined if the response is correct. */
function fault(request: FuzzRequest, status: number, text: string): string | undefined {
  if (status >= 500) return `status ${status}`;
  if (request.who === 'nobody' && ![401, 404, 405, 413, 414, 429].includes(status))
    return `${status} without a token`;
  if (request.who === 'mallory' && status < 400) return `${status} without a right`;
  if (status < 400 || request.method === 'HEAD') return undefined;
  try {
    return errorAnswer.safeParse(JSON.parse(text)).success ? undefined : 'an error that is no envelope';
  } catch {
    return 'an error that is no JSON';
  }
}

/**
 * Sends `count` generated requests and returns the problems, one line each. Bob may not give a cluster a key, and mallory
 * may do nothing, so at the end no object of theirs may exist.
 */
export async function fuzzBodies(world: RestWorld, count: number, seed: number): Promise<string[]> {
  const found: string[] = [];
  const { namespace, tokens } = world;
  const generated = fc.stream(samples(namespace, count, seed));
  const next = generated[Symbol.iterator]();
  const seen = new Map<number, number>();
  let sent = 0;
  const work = async (): Promise<void> => {
    for (let step = next.next(); !step.done; step = next.next()) {
      const request = step.value;
      sent += 1;
      const authorization =
        request.who === 'nobody' ? {} : { authorization: `Bearer ${tokens[request.who]}` };
      const answer = await world.app.inject({
        method: z.enum(['GET', 'POST', 'DELETE', 'PUT', 'PATCH', 'OPTIONS', 'HEAD']).parse(request.method),
        url: `/api/v1${request.path}`,
        headers: { ...request.headers, ...authorization },
        // Each request has a different address, because requests without a token are limited by address.
        remoteAddress:
          request.who === 'nobody'
            ? `10.${(sent >> 16) & 255}.${(sent >> 8) & 255}.${sent & 255}`
            : '127.0.0.1',
        ...(request.body === undefined ? {} : { payload: request.body }),
      });
      seen.set(answer.statusCode, (seen.get(answer.statusCode) ?? 0) + 1);
      const why = fault(request, answer.statusCode, answer.body);
      if (why !== undefined) found.push(`${why}: ${JSON.stringify(request)} → ${answer.body.slice(0, 300)}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const reported = [...seen].sort(([a], [b]) => a - b).map(([status, times]) => `${status}: ${times}`);
  process.stdout.write(`answers: ${reported.join(', ')}\n`);
  const { items } = await world.admin.list<KubernetesCluster>(KUBERNETES_CLUSTERS);
  for (const { metadata } of items) {
    const by = metadata.annotations?.[annotations.requestedBy] ?? '';
    if (/:(bob|mallory)$/.test(by)) found.push(`${metadata.name} was made or changed by ${by}`);
  }
  return found;
}

/** Generates requests lazily, a thousand at a time; each thousand has its own seed. */
function* samples(namespace: string, count: number, seed: number): Generator<FuzzRequest> {
  for (let from = 0; from < count; from += 1000) {
    yield* fc.sample(requests(namespace), { numRuns: Math.min(1000, count - from), seed: seed + from });
  }
}
