import { findCondition } from '#api/conditions.ts';
import {
  KUBERNETES_CLUSTERS,
  type KubernetesCluster,
  type OperationStatus,
} from '#api/kubernetes-cluster.ts';
import type { ObjectKey } from '#api/meta.ts';
import { annotations } from '#api/names.ts';
import { operationAsked } from '#api/words.ts';
import { type Clock, sleep } from '#base/clock.ts';
import { findOperation } from '#operations/index.ts';
import type { Client } from '#runtime/client.ts';
import { textFrom } from './log-lines.ts';
import type { LogStore } from './log-store.ts';

export interface LogReaderDeps {
  client: Client;
  clock: Clock;
  logs: LogStore;
}

/** How often a live log looks for more. */
const POLL_MS = 500;

/** Names of the Jobs of an operation, one an attempt. */
function jobsOf({ name, id, attempt }: OperationStatus): string[] {
  const prefix = findOperation(name)?.prefix ?? name;
  return Array.from({ length: attempt }, (_, index) => `${prefix}-${id}-${index + 1}`);
}

/** Reads one attempt's log from where it stopped. */
function cursor(logs: LogStore, job: string): () => Promise<string> {
  let number = 0;
  let seen = 0;
  let rest = '';
  return async () => {
    let text = '';
    for (;;) {
      const part = await logs.part(job, number);
      if (!part) return text;
      const news = textFrom(rest + part.text.slice(seen));
      text += news.text;
      rest = news.rest;
      seen = part.text.length;
      if (part.closed !== 'continued') return text;
      number += 1;
      seen = 0;
    }
  };
}

/** The log of the present or last operation, all attempts of it; undefined when there was none. */
export async function wholeLog(
  { logs }: Pick<LogReaderDeps, 'logs'>,
  cluster: KubernetesCluster,
): Promise<string | undefined> {
  const { operation } = cluster.status ?? {};
  if (!operation) return undefined;
  let text = '';
  for (const [index, job] of jobsOf(operation).entries()) {
    if (index > 0) text += `--- attempt ${index + 1}\n`;
    text += await cursor(logs, job)();
  }
  return text;
}

/** Whether what was asked last has not become an operation yet. */
function isWaiting({ metadata, status }: KubernetesCluster): boolean {
  const marked = metadata.annotations ?? {};
  const deletes = metadata.deletionTimestamp !== undefined;
  if (deletes) return status?.operation?.name !== 'delete';
  if (!operationAsked(marked[annotations.operation])) return false;
  return status?.operation?.requestId !== (marked[annotations.requestId] ?? '');
}

/** How an operation that is over ended, or why none starts; undefined while there is more to come. */
function lastWords(cluster: KubernetesCluster): string | undefined {
  const { operation, message, reason, conditions } = cluster.status ?? {};
  const stalled = findCondition(conditions, 'Stalled');
  if (operation && operation.result === undefined) return undefined;
  if (isWaiting(cluster)) {
    return stalled &&
      stalled.observedGeneration === cluster.metadata.generation &&
      stalled.reason !== 'OperationFailed'
      ? `${stalled.reason}: ${stalled.message}`
      : undefined;
  }
  if (!operation) return 'no operation has run yet';
  const why = operation.result === 'failed' && reason ? `: ${reason}: ${message ?? ''}` : '';
  return `${operation.name} ${operation.result}${why}`;
}

/**
 * The log as it grows, until the operation ends, or the one that was just asked for. Any replica can tell it, since it
 * reads what is stored.
 */
export async function* liveLog(
  { client, clock, logs }: LogReaderDeps,
  key: ObjectKey,
  uid: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const cursors = new Map<string, () => Promise<string>>();
  // Said at once, so that whoever listens sees that he is heard.
  yield `--- ${key.namespace}/${key.name}\n`;
  for (;;) {
    const cluster = await client.find<KubernetesCluster>(KUBERNETES_CLUSTERS, key, { signal });
    if (!cluster || cluster.metadata.uid !== uid) {
      yield 'the cluster is gone\n';
      return;
    }
    // The verdict first, then the log: what was written before the end is then read for certain.
    const words = lastWords(cluster);
    const { operation } = cluster.status ?? {};
    if (operation && !(isWaiting(cluster) && operation.result !== undefined)) {
      for (const [index, job] of jobsOf(operation).entries()) {
        let more = cursors.get(job);
        if (!more) {
          more = cursor(logs, job);
          cursors.set(job, more);
          if (index > 0) yield `--- attempt ${index + 1}\n`;
        }
        const text = await more();
        if (text !== '') yield text;
      }
    }
    if (words !== undefined) {
      yield `${words}\n`;
      return;
    }
    await sleep(POLL_MS, signal, clock);
  }
}
