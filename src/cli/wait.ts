import { OPERATION_VALUES } from '#api/operation-values.ts';
import { sleep } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import { type Address, type Cluster, findCluster } from './clusters.ts';
import { CommandFailure, EXIT } from './failure.ts';
import type { Io } from './io.ts';
import { liveProgress, type Progress, plainProgress } from './progress.ts';
import type { Session } from './session.ts';

const POLL_MS = 1_000;
/** A server may be away for this time: while it is replaced, or restarts. */
const AWAY_MS = 120_000;
/** A request that the operator does not begin for this time, and for a reason that needs the user, has failed. */
const STALLED_MS = 10_000;

/** The operation that a command waits for. */
export interface Awaited {
  name: string;
  address: Address;
  /** Undefined: the deletion. */
  requestId: string | undefined;
  hosts: readonly string[];
  timeoutSeconds: number | undefined;
}

const stalledOf = ({ status }: Cluster) =>
  status.conditions.find(({ type, status: value }) => type === 'Stalled' && value === 'True');

/** Returns how the operation stands; `undefined` if it ended well. Throws CommandFailure if it has failed. */
function standing(
  cluster: Cluster | undefined,
  { name, requestId }: Awaited,
  stalledMs: number,
): string | undefined {
  if (!cluster) {
    if (requestId === undefined) return undefined;
    throw new CommandFailure(`cluster ${name} was deleted meanwhile`, EXIT.failed);
  }
  const { operation, summary, message } = cluster.status;
  const isOurs = requestId === undefined ? operation?.name === 'delete' : operation?.requestId === requestId;
  const stalled = stalledOf(cluster);
  if (!isOurs) {
    if (stalled && stalledMs >= STALLED_MS)
      throw new CommandFailure(`${name}: ${stalled.reason}: ${stalled.message}`, EXIT.failed);
    return summary ?? 'waits for the operator';
  }
  const { result, step, name: what, id } = operation ?? {};
  if (result === undefined) return `${what}: ${step}`;
  if (result === 'finished') {
    // The second write of the end sets the annotation; until then, another request is refused as too early.
    const asked = Object.values(OPERATION_VALUES).map((values) => values.asked);
    return asked.includes(cluster.metadata.annotations['app.kubernetes.io/operation'] ?? '')
      ? `${what}: the end is being recorded`
      : undefined;
  }
  if (requestId === undefined && stalledMs < STALLED_MS) return `${what}: ${result}`;
  const why = stalled?.message ?? message ?? summary ?? '';
  throw new CommandFailure(
    `${name}: ${what} ${result}${why === '' ? '' : `: ${why}`}\n"matryoshka logs ${name}" has the log of operation ${id}`,
    EXIT.failed,
  );
}

/** Follows the log, and shows the task of each host, until `signal` aborts. */
async function followTasks(session: Session, { address }: Awaited, progress: Progress, signal: AbortSignal) {
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

/** Waits until an operation ends, and shows its progress. Throws CommandFailure if it fails, or if the time is over. */
export async function waitFor(session: Session, io: Io, awaited: Awaited): Promise<void> {
  const { name, timeoutSeconds } = awaited;
  const progress = io.isTerminal ? liveProgress(awaited.hosts) : plainProgress(io.note);
  const { clock } = io;
  const begun = clock.monotonicMs();
  const stop = new AbortController();
  const signal = AbortSignal.any([io.signal, stop.signal]);
  let tasks: Promise<void> | undefined;
  let [seenAt, stalledSince] = [begun, begun];
  try {
    for (;;) {
      const now = clock.monotonicMs();
      try {
        const found = await findCluster(session, name);
        seenAt = now;
        if (!found?.cluster || !stalledOf(found.cluster)) stalledSince = now;
        const text = standing(found?.cluster, awaited, now - stalledSince);
        if (text === undefined) return;
        progress.step(text);
        const { operation } = found?.cluster.status ?? {};
        const hasBegun = awaited.requestId === undefined || operation?.requestId === awaited.requestId;
        if (hasBegun && operation) tasks ??= followTasks(session, awaited, progress, signal);
      } catch (error) {
        const isAway = error instanceof CommandFailure && error.exitCode === EXIT.unavailable;
        if (!isAway || now - seenAt > AWAY_MS) throw error;
        progress.step(`${messageOf(error)}; trying again`);
      }
      if (timeoutSeconds !== undefined && now - begun > timeoutSeconds * 1_000)
        throw new CommandFailure(
          `${name}: the operation has not ended after ${timeoutSeconds} s, and goes on`,
          EXIT.timeout,
        );
      await sleep(POLL_MS, signal, clock);
    }
  } finally {
    stop.abort(new Error('the operation has ended'));
    await tasks;
    await progress.end();
  }
}
