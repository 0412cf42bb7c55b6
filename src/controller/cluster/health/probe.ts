import type { Clock } from '#base/clock.ts';
import type { Access } from '#cluster-access/access.ts';
import { type Connection, connectTo } from '#cluster-access/connection.ts';
import type { Seen, ServerSeen } from './judge/seen.ts';
import { askDatabaseBytes, askEtcdPods, askNodes, askReadiness } from './questions.ts';
import { tryWrite } from './write.ts';

export interface ProbeOptions {
  access: Access;
  /** Addresses of the control planes. */
  ips: readonly string[];
  port: number;
  /** Time limit of the whole probe: half of it for the readiness of each API server, half for the other requests. */
  deadlineMs: number;
  clock: Clock;
  signal: AbortSignal;
  /** Whether to request the size of etcd's database, the most expensive request for the API server. */
  withSize: boolean;
}

type Reported = Pick<Seen, 'nodes' | 'etcdPods' | 'databaseBytes' | 'writesRefused'>;

/**
 * Asks every API server for its readiness, and the first ready one for everything else. A dead or hanging server neither
 * blinds nor delays the probe. Closes every connection at the end and never rejects.
 */
export async function probe(options: ProbeOptions): Promise<Seen> {
  const { access, ips, port, clock, deadlineMs, signal } = options;
  const connections = ips.map((ip) => connectTo(ip, port, access));
  const bound = bounds(clock);
  try {
    const whole = bound(deadlineMs, signal);
    const asked = connections.map((connection) => askReadiness(connection, bound(deadlineMs / 2, whole)));
    const ready = asked.map(async (answer, at) =>
      (await answer).state === 'ready' ? connections[at] : undefined,
    );
    const ask = (connection: Connection) =>
      askAll(connection, bound(deadlineMs / 2, whole), options.withSize);
    const [servers, reported]: [ServerSeen[], Reported] = await Promise.all([
      Promise.all(asked),
      firstOf(ready, ask),
    ]);
    return { servers, ...reported, clientCertificateEnds: access.certificateEnds };
  } finally {
    bound.end();
    for (const connection of connections) connection.close();
  }
}

/** Returns the answers of the first connection that comes; if it reports no nodes, the next is asked. */
async function firstOf(
  coming: readonly Promise<Connection | undefined>[],
  ask: (connection: Connection) => Promise<Reported>,
): Promise<Reported> {
  const awaited = new Map(coming.map((one, at) => [at, one.then((connection) => ({ at, connection }))]));
  let reported: Reported = {};
  while (awaited.size > 0 && !reported.nodes) {
    const { at, connection } = await Promise.race(awaited.values());
    awaited.delete(at);
    if (connection) reported = { ...reported, ...(await ask(connection)) };
  }
  return reported;
}

async function askAll(connection: Connection, signal: AbortSignal, withSize: boolean): Promise<Reported> {
  const orNothing = <T>(answer: Promise<T>): Promise<T | undefined> => answer.catch(() => undefined);
  const nodes = await orNothing(askNodes(connection, signal));
  const etcdPods = await orNothing(askEtcdPods(connection, signal));
  const databaseBytes = withSize ? await orNothing(askDatabaseBytes(connection, signal)) : undefined;
  // An etcd that refuses writes still answers reads; the symptom is that no kubelet can renew its lease.
  const isMute = nodes?.some(({ silent }) => silent) === true && nodes.every(({ ready }) => !ready);
  const writesRefused = isMute ? await orNothing(tryWrite(connection, signal)) : undefined;
  return {
    ...(nodes ? { nodes } : {}),
    ...(etcdPods ? { etcdPods } : {}),
    ...(writesRefused ? { writesRefused } : {}),
    databaseBytes,
  };
}

/** Returns a function for signals that abort after a time or with another signal; `end` removes their timers. */
function bounds(clock: Clock) {
  const undo: (() => void)[] = [];
  const bound = (ms: number, outer: AbortSignal): AbortSignal => {
    const abort = new AbortController();
    const onAbort = () => abort.abort(outer.reason);
    if (outer.aborted) onAbort();
    outer.addEventListener('abort', onAbort, { once: true });
    undo.push(
      clock.after(ms, () => abort.abort(new Error(`no answer within ${ms / 1000} s`))),
      () => outer.removeEventListener('abort', onAbort),
    );
    return abort.signal;
  };
  bound.end = () => {
    for (const one of undo) one();
  };
  return bound;
}
