import type { FastifyInstance } from 'fastify';
import { onClusters } from '#access/permissions.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { sleep } from '#base/clock.ts';
import { logText } from '#protocol/log-text.ts';
import { type RunEventAnswer, watchOperation } from '#rest/events.ts';
import { findOperation } from '../clusters/operation-records.ts';
import { clusterIn, keyOf } from '../clusters/requests.ts';
import { notFound } from '../http/errors.ts';
import { type EventSink, lastEventId, sendEvents, whileAllowed } from '../http/event-stream.ts';
import { serve } from '../http/serve.ts';
import { streamLimit } from '../http/user-limit.ts';
import { eventIn } from './log-lines.ts';
import { jobsOf, type Logged, lineCursor, type SharedReads, sharedReads } from './log-reader.ts';
import type { LogDeps } from './log-routes.ts';
import type { LogStore } from './log-store.ts';

const POLL_MS = 500;

const shown = (text: string | undefined) => (text === undefined ? undefined : logText(text));

/** Returns a line of a log as an event. */
function eventOf(line: string, attempt: number): RunEventAnswer {
  const found = eventIn(line);
  if (!found) return { event: 'info', time: '', attempt, message: logText(line) };
  const { time, event, play, task, host, seconds, message } = found;
  return {
    ...{ event, time, attempt, step: shown(play), task: shown(task), host: shown(host) },
    ...{ seconds, message: shown(message) },
  };
}

/** Number of the attempt and of the line that a client has last; ids of events are `<attempt>.<line>`. */
interface Place {
  attempt: number;
  line: number;
}

function placeOf(id: string | undefined): Place {
  const [, attempt, line] = /^([0-9]{1,4})\.([0-9]{1,9})$/.exec(id ?? '') ?? [];
  return { attempt: Number(attempt ?? 0), line: Number(line ?? 0) };
}

const isAfter = (place: Place, last: Place): boolean =>
  place.attempt > last.attempt || (place.attempt === last.attempt && place.line > last.line);

interface Reads {
  logs: Pick<LogStore, 'read' | 'follow'>;
  shared: SharedReads;
}

/** Returns the operation in the status of the cluster, if it is this one. */
const inStatus = (cluster: KubernetesCluster | undefined, id: string) =>
  cluster?.status?.operation?.id === id ? cluster.status.operation : undefined;

/** An operation whose events are sent, with the end that its record has. */
interface Followed extends Logged {
  result?: string | undefined;
  message?: string | undefined;
}

/** Returns a function that sends the lines which the attempts of an operation have logged since its last call. */
function newLines({ logs, shared }: Reads, logged: Logged, last: Place, { paced }: EventSink) {
  const cursors = new Map<string, { lines: ReturnType<typeof lineCursor>; count: number }>();
  return async (attempt: number, isUnderWay: boolean): Promise<void> => {
    const jobs = jobsOf({ ...logged, attempt });
    for (const [index, job] of jobs.entries()) {
      const cursor = cursors.get(job) ?? { lines: lineCursor(job), count: 0 };
      cursors.set(job, cursor);
      for await (const line of cursor.lines(isUnderWay ? shared.piece : logs.read)) {
        cursor.count += 1;
        const place = { attempt: index + 1, line: cursor.count };
        if (!isAfter(place, last)) continue;
        const id = `${place.attempt}.${place.line}`;
        await paced({ event: 'run', id, data: eventOf(line, place.attempt) });
      }
    }
    // The Job of the last attempt sends a followed log more often.
    const [running] = jobs.slice(-1);
    if (isUnderWay && running !== undefined) logs.follow(running).catch(() => {});
  };
}

/** Sends the events of an operation, from its beginning or after `last`, until it has ended. */
async function follow(
  reads: Reads,
  cluster: KubernetesCluster,
  { logged, recorded }: { logged: Followed; recorded: () => Promise<Followed | undefined> },
  last: Place,
  clock: LogDeps['clock'],
  sink: EventSink,
): Promise<void> {
  const sendNew = newLines(reads, logged, last, sink);
  for (;;) {
    const present = await reads.shared.cluster(keyOf(cluster));
    const isSame = present?.metadata.uid === cluster.metadata.uid;
    // The result is read before the log, so that everything written before the end is sent.
    const now = isSame ? inStatus(present, logged.id) : undefined;
    const isUnderWay = now !== undefined && now.result === undefined;
    // The next operation has replaced this one in status, or the cluster is gone.
    const ended: Followed | undefined =
      now ?? (logged.result === undefined ? await recorded().catch(() => undefined) : logged);
    const attempt = Math.max(ended?.attempt ?? 0, logged.attempt);
    await sendNew(attempt, isUnderWay);
    if (!isUnderWay) {
      const result = ended?.result ?? 'ended';
      const message = now ? present?.status?.message : ended?.message;
      const why = result !== 'finished' && message ? `: ${message}` : '';
      const time = now?.endedAt ?? '';
      const data: RunEventAnswer = { event: 'end', time, attempt, message: logText(`${result}${why}`) };
      await sink.paced({ event: 'end', data });
      return;
    }
    await sleep(POLL_MS, sink.signal, clock);
  }
}

export const operationEventRoutes = (app: FastifyInstance, deps: LogDeps): void => {
  const { client, clock, log, auth, logs, closing } = deps;
  const shared = sharedReads(client, logs, clock);
  const streams = streamLimit();
  serve(app, watchOperation, async ({ params, query: { namespace }, headers, person, raw }, reply) => {
    const { region, name, id } = params;
    const permission = onClusters('get', namespace, name);
    await auth.allow(person, permission);
    const cluster = await clusterIn(client, region, { namespace, name });
    const recorded = async (): Promise<Followed | undefined> => {
      const found = await findOperation(client, cluster, id);
      return found && { ...found, name: found.operation };
    };
    const logged = inStatus(cluster, id) ?? (await recorded());
    if (!logged) throw notFound(`cluster "${name}" has no operation "${id}"`);
    const leave = streams.enter(person.username);
    const authorize = async () => auth.allow(await auth.personOf(headers.authorization), permission);
    const last = placeOf(lastEventId(headers));
    return sendEvents(reply, { raw, clock, log, closing, leave }, (sink) =>
      whileAllowed(clock, sink, authorize, (allowed) =>
        follow({ logs, shared }, cluster, { logged, recorded }, last, clock, allowed),
      ),
    );
  });
};
