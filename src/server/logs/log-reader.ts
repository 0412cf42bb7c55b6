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
import { ttlCache } from '#base/ttl-cache.ts';
import { findOperation } from '#operations/index.ts';
import { logText } from '#protocol/log-text.ts';
import type { Client } from '#runtime/client/client.ts';
import { textFrom } from './log-lines.ts';
import { type LogPiece, type LogPosition, type LogSource, START } from './log-source.ts';
import type { LogStore } from './log-store.ts';

export interface LogReaderDeps {
  clock: Clock;
  logs: Pick<LogStore, 'read' | 'follow'>;
  /** What every follower looks at, read once for all of them. */
  shared: SharedReads;
  /** Throws if the follower may not read the log any more. */
  authorize(): Promise<void>;
}

/** The interval in which a live log looks for more. */
const POLL_MS = 500;
/** A follower whose token or right is withdrawn reads on for so long. */
const AUTHORIZE_MS = 30_000;
/** Less than the above, so that each look of a follower is a new one. */
const SHARED_MS = 450;
/** Pieces of logs that are remembered: 4 MiB each at most, mostly a few KiB. */
const SHARED_PARTS = 16;
const SHARED_CLUSTERS = 256;

/** Reads for everybody who follows: one in half a second for each object, however many ask. */
export interface SharedReads {
  cluster(key: ObjectKey): Promise<KubernetesCluster | undefined>;
  piece: LogSource['read'];
}

export function sharedReads(client: Client, logs: Pick<LogSource, 'read'>, clock: Clock): SharedReads {
  const clusters = ttlCache<KubernetesCluster | undefined>({
    clock,
    forMs: SHARED_MS,
    size: SHARED_CLUSTERS,
  });
  const parts = ttlCache<LogPiece | undefined>({ clock, forMs: SHARED_MS, size: SHARED_PARTS });
  return {
    cluster: (key) =>
      clusters.get(`${key.namespace}/${key.name}`, () =>
        client.find<KubernetesCluster>(KUBERNETES_CLUSTERS, key),
      ),
    piece: (job, at) => parts.get(`${job}/${at.number}/${at.offset}`, () => logs.read(job, at)),
  };
}

/** Names of the Jobs of an operation, one an attempt. */
function jobsOf({ name, id, attempt }: OperationStatus): string[] {
  const prefix = findOperation(name)?.prefix ?? name;
  return Array.from({ length: attempt }, (_, index) => `${prefix}-${id}-${index + 1}`);
}

type ReadPiece = LogSource['read'];

/** Reads one attempt's log from where it stopped, piece by piece. */
function cursor(job: string): (read: ReadPiece) => AsyncGenerator<string> {
  let at: LogPosition = START;
  let rest = '';
  return async function* (read) {
    for (let piece = await read(job, at); piece; piece = await read(job, at)) {
      const news = textFrom(rest + piece.text);
      rest = news.rest;
      at = piece.next;
      if (news.text !== '') yield news.text;
    }
  };
}

/** As much of a log as one answer holds; the whole may be many attempts of 8 MiB. */
const ENVELOPE_CHARS = 1024 * 1024;
const CUT =
  '--- what came before is left out; ask with "?follow=true" or "Accept: text/plain" for the whole\n';

/** Whether the operation in status is one that was over before the present request. */
const isFormer = (cluster: KubernetesCluster): boolean =>
  isWaiting(cluster) && cluster.status?.operation?.result !== undefined;

/** A line that says what is waited for, while no Job has logged anything. */
function wordsInstead(cluster: KubernetesCluster): string {
  const { operation } = cluster.status ?? {};
  const words = lastWords(cluster);
  if (words !== undefined) return `${words}\n`;
  if (!operation || isFormer(cluster)) return 'the request waits for the controller\n';
  const begins = findCondition(cluster.status?.conditions, 'Reconciling');
  if (begins?.reason === 'Queued') return `${operation.name} ${begins.message}\n`;
  return `${operation.name} is under way, step "${operation.step}"; its Job has logged nothing yet\n`;
}

/**
 * The end of the log of the operation that was asked for last, all attempts of it; while no Job has logged anything, a
 * line that says what is waited for.
 */
export async function endOfLog(logs: Pick<LogSource, 'tail'>, cluster: KubernetesCluster): Promise<string> {
  const { operation } = cluster.status ?? {};
  if (!operation || isFormer(cluster)) return wordsInstead(cluster);
  // From the last attempt backwards: no more is read than one answer holds.
  const texts: string[] = [];
  let left = ENVELOPE_CHARS;
  let isCut = false;
  for (const [index, job] of [...jobsOf(operation).entries()].reverse()) {
    if (left <= 0) {
      isCut = true;
      break;
    }
    const { text: events, isWhole } = await logs.tail(job, left);
    const { text } = textFrom(events);
    texts.unshift(`${index > 0 ? `--- attempt ${index + 1}\n` : ''}${text}`);
    left -= text.length;
    isCut ||= !isWhole;
  }
  const whole = texts.join('');
  if (whole === '') return wordsInstead(cluster);
  if (whole.length <= ENVELOPE_CHARS) return isCut ? CUT + whole : whole;
  return CUT + whole.slice(whole.indexOf('\n', whole.length - ENVELOPE_CHARS) + 1);
}

/** Whether what was asked last has not become an operation yet. */
function isWaiting({ metadata, status }: KubernetesCluster): boolean {
  const marked = metadata.annotations ?? {};
  const deletes = metadata.deletionTimestamp !== undefined;
  if (deletes) return status?.operation?.name !== 'delete';
  // The controller has not judged this spec yet: an edit without a word may start an operation, and one with the word of
  // the last request is another request.
  const judged = status?.observedGeneration;
  if (judged !== undefined && judged !== metadata.generation) return true;
  if (!operationAsked(marked[annotations.operation])) return false;
  return status?.operation?.requestId !== (marked[annotations.requestId] ?? '');
}

/** Reasons of a stall that tell how the last operation ended, not why none starts. */
const OF_THE_LAST: readonly string[] = ['OperationFailed', 'Cancelled'];

/** The last line of a log: the result of the operation, or the reason why none starts; undefined while more may come. */
function lastWords(cluster: KubernetesCluster): string | undefined {
  const { operation, message, reason, conditions } = cluster.status ?? {};
  const stalled = findCondition(conditions, 'Stalled');
  if (operation && operation.result === undefined) return undefined;
  if (isWaiting(cluster)) {
    return stalled &&
      stalled.observedGeneration === cluster.metadata.generation &&
      !OF_THE_LAST.includes(stalled.reason)
      ? logText(`${stalled.reason}: ${stalled.message}`)
      : undefined;
  }
  if (!operation) return 'no operation has run yet';
  const why = operation.result !== 'finished' && reason ? `: ${reason}: ${message ?? ''}` : '';
  return logText(`${operation.name} ${operation.result}${why}`);
}

/**
 * The log as it grows, until the operation ends, or the one that was just asked for. Any replica can tell it, since it
 * reads what is stored.
 */
export async function* liveLog(
  { clock, logs, shared, authorize }: LogReaderDeps,
  key: ObjectKey,
  uid: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const cursors = new Map<string, (read: ReadPiece) => AsyncGenerator<string>>();
  /** Yields what the logs of all attempts have gained. A Job whose log is followed sends it more often. */
  async function* unread(operation: OperationStatus, isUnderWay: boolean): AsyncGenerator<string> {
    const read: ReadPiece = isUnderWay ? shared.piece : logs.read;
    for (const [index, job] of jobsOf(operation).entries()) {
      const isNew = !cursors.has(job);
      const more = cursors.get(job) ?? cursor(job);
      cursors.set(job, more);
      if (isNew && index > 0) yield `--- attempt ${index + 1}\n`;
      let isHeard = false;
      for await (const text of more(read)) {
        isHeard = true;
        yield text;
      }
      if (isHeard && isUnderWay) logs.follow(job).catch(() => {});
    }
  }
  // A client sees at once that its request is heard.
  yield `--- ${key.namespace}/${key.name}\n`;
  let authorizedMs = clock.monotonicMs();
  for (;;) {
    if (clock.monotonicMs() - authorizedMs >= AUTHORIZE_MS) {
      await authorize();
      authorizedMs = clock.monotonicMs();
    }
    const cluster = await shared.cluster(key);
    signal.throwIfAborted();
    if (!cluster || cluster.metadata.uid !== uid) {
      yield 'the cluster is gone\n';
      return;
    }
    // The verdict first, then the log anew: what was written before the end is then read for certain.
    const words = lastWords(cluster);
    const { operation } = cluster.status ?? {};
    if (operation && !isFormer(cluster)) yield* unread(operation, words === undefined);
    if (words !== undefined) {
      yield `${words}\n`;
      return;
    }
    await sleep(POLL_MS, signal, clock);
  }
}
