import { text } from 'node:stream/consumers';
import type { Client } from '#runtime/client/client.ts';

/** Requests that an API server has processed, by verb and resource. */
export type Counts = ReadonlyMap<string, number>;

const WRITES = new Set(['POST', 'PUT', 'PATCH', 'APPLY', 'DELETE', 'DELETECOLLECTION']);

/** Reads the server's own counter, apiserver_request_total. */
export async function countRequests(client: Client): Promise<Counts> {
  const metrics = await text(await client.stream('/metrics'));
  const counts = new Map<string, number>();
  for (const [, labels = '', value = ''] of metrics.matchAll(/^apiserver_request_total\{(.*)\} (\S+)$/gm)) {
    const label = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(labels)?.[1] ?? '';
    const key = `${label('verb')} ${label('resource')}`;
    counts.set(key, (counts.get(key) ?? 0) + Number(value));
  }
  return counts;
}

/** Returns the writes between two counts, without those of Leases if `leases` is false. */
export function writesBetween(before: Counts, after: Counts, leases = true): number {
  let writes = 0;
  for (const [key, count] of after) {
    const [verb = '', resource] = key.split(' ');
    if (WRITES.has(verb) && (leases || resource !== 'leases')) writes += count - (before.get(key) ?? 0);
  }
  return writes;
}

/** Formats the most frequent requests between two counts: `24.4 GET secrets, …`, each divided by `by`. */
export function mostAsked(before: Counts, after: Counts, by: number): string {
  return [...after]
    .map(([key, count]) => [key, (count - (before.get(key) ?? 0)) / by] as const)
    .filter(([, each]) => each >= 0.5)
    .sort(([, a], [, b]) => b - a)
    .map(([key, each]) => `${each.toFixed(1)} ${key}`)
    .join(', ');
}
