import { OPERATION_VALUES } from '#api/operation-values.ts';
import { sleep } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import { listOperations } from '#rest/history.ts';
import { type Address, type Cluster, clusterAt } from './clusters.ts';
import { CommandFailure, EXIT } from './failure.ts';
import type { Io } from './io.ts';
import { type End, liveProgress, type Progress, plainProgress } from './progress.ts';
import type { Session } from './session.ts';

const POLL_MS = 1_000;
/** A server may be away for this time: while it is replaced, or restarts. */
const AWAY_MS = 120_000;
/** A request that does not begin for this time, for a reason that needs the user, has failed. */
const PATIENCE_MS = 10_000;

export interface Deletion {
  /** Uid of the cluster. One of the same name that was made since is another. */
  uid: string | undefined;
  /** Id of the deletion that failed before, if this one is its retry: how that one ended is not how this one ends. */
  before: string | undefined;
}

/** The operation that a command waits for. */
export interface Awaited {
  name: string;
  address: Address;
  what: { kind: 'operation'; requestId: string } | ({ kind: 'deletion' } & Deletion);
  hosts: readonly string[];
  timeoutSeconds: number | undefined;
}

/** State of the awaited operation. `stuck`: it fails if this lasts. */
type Standing =
  | { kind: 'goes on' | 'stuck'; text: string }
  | { kind: 'finished' }
  | { kind: 'failed'; text: string };

const REQUEST_ID = 'ecs.yun.com/request-id';
const OPERATION = 'app.kubernetes.io/operation';
const ASKED: ReadonlySet<string> = new Set(Object.values(OPERATION_VALUES).map(({ asked }) => asked));
/** Reasons that describe the end of the last operation, not why none begins. */
const OF_THE_LAST: readonly string[] = ['OperationFailed', 'Cancelled'];

const stalledOf = ({ status }: Cluster) =>
  status.conditions.find(({ type, status: value }) => type === 'Stalled' && value === 'True');

/** Returns the place of the request in the queue; undefined if it is in none. */
function queueOf({ status }: Cluster): string | undefined {
  const queued = status.conditions.find(({ type, reason }) => type === 'Reconciling' && reason === 'Queued');
  return queued?.message;
}

/** Returns why the request does not begin; undefined if that is not known to be about this request. */
function obstacleOf(cluster: Cluster): string | undefined {
  const stalled = stalledOf(cluster);
  if (!stalled || OF_THE_LAST.includes(stalled.reason)) return undefined;
  if (stalled.observedGeneration !== cluster.metadata.generation) return undefined;
  return stalled.reason === 'Paused'
    ? `is paused: the operation starts after "matryoshka resume ${cluster.metadata.name}"`
    : `${stalled.reason}: ${stalled.message}`;
}

const failed = (
  name: string,
  { what, id, result, why }: { what: string; id: string; result: string; why: string },
) =>
  [
    `${name}: ${what} ${result}${why === '' ? '' : `: ${why}`}`,
    `"matryoshka logs ${name} --operation ${id}" has its log`,
    ...(what === 'scale-up'
      ? [`"matryoshka scale ${name} --remove HOST" gives up a host that cannot join`]
      : []),
  ].join('\n');

/** Returns how a request stands that has not begun. */
function ofWaiting(cluster: Cluster, name: string): Standing {
  const obstacle = obstacleOf(cluster);
  return obstacle === undefined
    ? { kind: 'goes on', text: queueOf(cluster) ?? 'waits for the operator' }
    : { kind: 'stuck', text: `${name}: ${obstacle}` };
}

function ofDeletion(cluster: Cluster | undefined, name: string, { uid, before }: Deletion): Standing {
  if (!cluster || (uid !== undefined && cluster.metadata.uid !== uid)) return { kind: 'finished' };
  const { operation, summary, message } = cluster.status;
  if (operation?.name !== 'delete') return ofWaiting(cluster, name);
  const { result, step, id } = operation;
  if (result === undefined) return { kind: 'goes on', text: `delete: ${step}` };
  if (id === before) return ofWaiting(cluster, name);
  const why = message ?? summary ?? '';
  return { kind: 'stuck', text: failed(name, { what: 'delete', id, result, why }) };
}

/** Returns how an operation stands that status does not have, or no longer: its record says how it ended. */
async function ofRecord(session: Session, { name, address }: Awaited, requestId: string): Promise<Standing> {
  const { items } = await session.call(listOperations, address);
  const found = items.find((one) => one.requestId === requestId);
  if (!found)
    return { kind: 'stuck', text: `${name}: another request has replaced this one before it began` };
  const { operation: what, id, result, message: why = '' } = found;
  if (result === 'running') return { kind: 'goes on', text: `${what}: is running` };
  if (result === 'finished') return { kind: 'finished' };
  return { kind: 'failed', text: failed(name, { what, id, result, why }) };
}

async function ofOperation(
  session: Session,
  cluster: Cluster | undefined,
  awaited: Awaited,
  requestId: string,
): Promise<Standing> {
  const { name } = awaited;
  if (!cluster) return { kind: 'failed', text: `cluster ${name} was deleted meanwhile` };
  const { operation, summary, message } = cluster.status;
  const { [REQUEST_ID]: present, [OPERATION]: word = '' } = cluster.metadata.annotations;
  if (operation?.requestId !== requestId) {
    if (present !== requestId) return ofRecord(session, awaited, requestId);
    return ofWaiting(cluster, name);
  }
  const { result, step, name: what, id } = operation;
  if (result === undefined) return { kind: 'goes on', text: `${what}: ${step}` };
  if (result !== 'finished')
    return { kind: 'failed', text: failed(name, { what, id, result, why: message ?? summary ?? '' }) };
  // The second write of the end sets the annotation; until then, another request is refused as too early.
  const isRecorded = present !== requestId || !ASKED.has(word);
  return isRecorded ? { kind: 'finished' } : { kind: 'goes on', text: `${what}: the end is being recorded` };
}

/** Follows the log, and shows the task of each host, until `signal` aborts. */
async function followTasks(
  session: Session,
  { address }: Awaited,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const { region, name } = address.params;
  const path = `/region/${encodeURIComponent(region)}/cluster/${name}/logs?follow=true&namespace=${address.query.namespace}`;
  try {
    await session.lines(
      path,
      (line) => {
        const [, host, task, result = ''] = line.split('  ');
        if (host !== undefined && task !== undefined) progress.task(host, task, result);
      },
      signal,
    );
  } catch {
    // The state of the cluster decides how the operation ends; its log is only shown.
  }
}

/**
 * Waits until an operation ends, and shows its progress. Throws CommandFailure if it fails, if the time is over, or if the
 * user interrupts.
 */
export async function waitFor(session: Session, io: Io, awaited: Awaited): Promise<void> {
  try {
    await untilEnd(session, io, awaited);
  } catch (error) {
    if (!(io.signal.aborted && error instanceof CommandFailure)) throw error;
    const onward = awaited.what.kind === 'deletion' ? '' : `; "matryoshka cancel ${awaited.name}" stops it`;
    throw new CommandFailure(`${error.message}: the operation goes on${onward}`, error.exitCode);
  }
}

async function untilEnd(session: Session, io: Io, awaited: Awaited): Promise<void> {
  const { name, address, what, timeoutSeconds } = awaited;
  const progress = io.isTerminal ? liveProgress(awaited.hosts) : plainProgress(io.note);
  const { clock } = io;
  const begun = clock.monotonicMs();
  const stop = new AbortController();
  const signal = AbortSignal.any([io.signal, stop.signal]);
  let tasks: Promise<void> | undefined;
  let how: End = 'left';
  let [seenAt, stuckSince] = [begun, begun];
  try {
    for (;;) {
      const now = clock.monotonicMs();
      try {
        const cluster = (await clusterAt(session, address))?.cluster;
        const standing =
          what.kind === 'deletion'
            ? ofDeletion(cluster, name, what)
            : await ofOperation(session, cluster, awaited, what.requestId);
        seenAt = now;
        if (standing.kind === 'finished') {
          how = 'finished';
          return;
        }
        if (standing.kind !== 'stuck') stuckSince = now;
        if (standing.kind === 'failed' || now - stuckSince >= PATIENCE_MS) {
          how = 'failed';
          throw new CommandFailure(standing.text, EXIT.failed);
        }
        progress.step(standing.text.split('\n')[0] ?? '');
        const { operation } = cluster?.status ?? {};
        const isOurs =
          what.kind === 'deletion'
            ? operation?.name === 'delete' && operation.id !== what.before
            : operation?.requestId === what.requestId;
        if (isOurs) tasks ??= followTasks(session, awaited, progress, signal);
      } catch (error) {
        const isAway = error instanceof CommandFailure && error.exitCode === EXIT.unavailable;
        if (!isAway || now - seenAt > AWAY_MS) throw error;
        progress.step(`${messageOf(error)}; trying again`);
      }
      if (timeoutSeconds !== undefined && now - begun > timeoutSeconds * 1_000)
        throw new CommandFailure(
          `${name}: the operation has not ended after ${timeoutSeconds} s, and goes on; "matryoshka logs -f ${name}" shows it`,
          EXIT.timeout,
        );
      await sleep(POLL_MS, signal, clock);
    }
  } finally {
    stop.abort(new Error('the operation has ended'));
    await tasks;
    await progress.end(how);
  }
}
