import { findCondition } from '#api/conditions.ts';
import {
  KUBERNETES_CLUSTERS,
  type KubernetesCluster,
  type OperationStatus,
} from '#api/kubernetes-cluster.ts';
import type { ObjectKey } from '#api/meta.ts';
import { annotations } from '#api/names.ts';
import { operationAsked } from '#api/operation-values.ts';
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
  /** Reads that all followers share. */
  shared: SharedReads;
  /** Throws if the follower may no longer read the log. */
  authorize(): Promise<void>;
}

/** The interval in which a live log is read. */
const POLL_MS = 500;
/** Time that a follower can still read after its token or permission is withdrawn. */
const AUTHORIZE_MS = 30_000;
/** Shorter than the poll interval, so that each poll of a follower is a new read. */
const SHARED_MS = 450;
/** Most pieces of logs that are remembered: 4 MiB each at most, mostly a few KiB. */
const SHARED_PARTS = 16;
const SHARED_CLUSTERS = 256;

/** Reads for all followers: one in half a second for each object, however many follow. */
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

/** The operation of a log, with its last attempt. */
export type Logged = Pick<OperationStatus, 'name' | 'id' | 'attempt'>;

/** Returns the names of an operation's Jobs, one for each attempt. */
export function jobsOf({ name, id, attempt }: Logged): string[] {
  const prefix = findOperation(name)?.prefix ?? name;
  return Array.from({ length: attempt }, (_, index) => `${prefix}-${id}-${index + 1}`);
}

/** Returns a generator that reads the lines of one attempt's log from where it stopped. */
export function lineCursor(job: string): (read: LogSource['read']) => AsyncGenerator<string> {
  let at: LogPosition = START;
  let rest = '';
  return async function* (read) {
    for (let piece = await read(job, at); piece; piece = await read(job, at)) {
      const lines = (rest + piece.text).split('\n');
      rest = lines.pop() ?? '';
      at = piece.next;
      yield* lines.filter((line) => line !== '');
    }
  };
}

type ReadPiece = LogSource['read'];

/** Returns a generator that reads one attempt's log from where it stopped, piece by piece. */
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

/** Most characters in one answer; the whole log may have many attempts of 8 MiB. */
const ENVELOPE_CHARS = 1024 * 1024;
const CUT =
  '--- what came before is left out; ask with "?follow=true" or "Accept: text/plain" for the whole\n';

/** Whether the operation in status ended before the present request. */
const isFormer = (cluster: KubernetesCluster): boolean =>
  isWaiting(cluster) && cluster.status?.operation?.result !== undefined;

/** Returns a line about the reason to wait, while no Job has logged anything. */
function messageWithoutLog(cluster: KubernetesCluster): string {
  const { operation } = cluster.status ?? {};
  const message = finalMessage(cluster);
  if (message !== undefined) return `${message}\n`;
  if (!operation || isFormer(cluster)) return 'the request waits for the controller\n';
  const begins = findCondition(cluster.status?.conditions, 'Reconciling');
  if (begins?.reason === 'Queued') return `${operation.name} ${begins.message}\n`;
  return `${operation.name} is under way, step "${operation.step}"; its Job has logged nothing yet\n`;
}

/** Returns the end of an operation's log, with all its attempts; empty if no Job has logged anything. */
export async function endOfOperationLog(logs: Pick<LogSource, 'tail'>, operation: Logged): Promise<string> {
  // From the last attempt backwards, so that no more is read than one answer holds.
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
  if (whole.length <= ENVELOPE_CHARS) return isCut ? CUT + whole : whole;
  return CUT + whole.slice(whole.indexOf('\n', whole.length - ENVELOPE_CHARS) + 1);
}

/**
 * Returns the end of the log of the last requested operation. While no Job has logged anything, returns a line about the
 * reason to wait.
 */
export async function endOfLog(logs: Pick<LogSource, 'tail'>, cluster: KubernetesCluster): Promise<string> {
  const { operation } = cluster.status ?? {};
  if (!operation || isFormer(cluster)) return messageWithoutLog(cluster);
  return (await endOfOperationLog(logs, operation)) || messageWithoutLog(cluster);
}

/** Whether the last request has not become an operation yet. */
function isWaiting({ metadata, status }: KubernetesCluster): boolean {
  const marked = metadata.annotations ?? {};
  const deletes = metadata.deletionTimestamp !== undefined;
  if (deletes) return status?.operation?.name !== 'delete';
  // The controller has not observed this spec yet: an edit without an operation annotation may start an operation, and one
  // with the last request's annotation is another request.
  const judged = status?.observedGeneration;
  if (judged !== undefined && judged !== metadata.generation) return true;
  if (!operationAsked(marked[annotations.operation])) return false;
  return status?.operation?.requestId !== (marked[annotations.requestId] ?? '');
}

/** Reasons of a stall that describe the end of the last operation, not why none starts. */
const OF_THE_LAST: readonly string[] = ['OperationFailed', 'Cancelled'];

/** Returns the last line of a log: the result of the operation, or why none starts; undefined while more may come. */
function finalMessage(cluster: KubernetesCluster): string | undefined {
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
 * Yields the log as it grows, until the operation ends that runs or was just requested. Every replica can do this, since it
 * reads what is stored.
 */
export async function* liveLog(
  { clock, logs, shared, authorize }: LogReaderDeps,
  key: ObjectKey,
  uid: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const cursors = new Map<string, (read: ReadPiece) => AsyncGenerator<string>>();
  /** Yields what the logs of all attempts have gained. A Job sends a followed log more often. */
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
  // A client sees at once that its request was received.
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
    // The result is read before the log, so that everything written before the end is included.
    const message = finalMessage(cluster);
    const { operation } = cluster.status ?? {};
    if (operation && !isFormer(cluster)) yield* unread(operation, message === undefined);
    if (message !== undefined) {
      yield `${message}\n`;
      return;
    }
    await sleep(POLL_MS, signal, clock);
  }
}
