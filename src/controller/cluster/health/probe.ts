import type { Clock } from '#base/clock.ts';
import type { Access } from './access.ts';
import { type Connection, connectTo } from './connection.ts';
import type { Seen, ServerSeen } from './judge/seen.ts';
import { askDatabaseBytes, askEtcdPods, askNodes, askReadiness } from './questions.ts';
import { tryWrite } from './write.ts';

export interface ProbeOptions {
  access: Access;
  /** Addresses of the control planes. */
  ips: readonly string[];
  port: number;
  /** For the whole probe; half of it for each API server to say how it is, and half for what else it is asked. */
  deadlineMs: number;
  clock: Clock;
  signal: AbortSignal;
  /** Whether to ask for the size of etcd's database, which costs the API server most. */
  withSize: boolean;
}

type Told = Pick<Seen, 'nodes' | 'etcdPods' | 'databaseBytes' | 'writesRefused'>;

/**
 * Asks every API server how it is, and the first that is ready everything else: one that is dead, or hangs, neither
 * blinds nor delays. Every connection is closed at the end. It never rejects.
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
    const [servers, told]: [ServerSeen[], Told] = await Promise.all([
      Promise.all(asked),
      firstOf(ready, ask),
    ]);
    return { servers, ...told, clientCertificateEnds: access.certificateEnds };
  } finally {
    bound.end();
    for (const connection of connections) connection.close();
  }
}

/** What the first that comes tells; where it tells nothing, the next is asked. */
async function firstOf(
  coming: readonly Promise<Connection | undefined>[],
  ask: (connection: Connection) => Promise<Told>,
): Promise<Told> {
  const awaited = new Map(coming.map((one, at) => [at, one.then((connection) => ({ at, connection }))]));
  let told: Told = {};
  while (awaited.size > 0 && !told.nodes) {
    const { at, connection } = await Promise.race(awaited.values());
    awaited.delete(at);
    if (connection) told = { ...told, ...(await ask(connection)) };
  }
  return told;
}

async function askAll(connection: Connection, signal: AbortSignal, withSize: boolean): Promise<Told> {
  const orNothing = <T>(answer: Promise<T>): Promise<T | undefined> => answer.catch(() => undefined);
  const nodes = await orNothing(askNodes(connection, signal));
  const etcdPods = await orNothing(askEtcdPods(connection, signal));
  const databaseBytes = withSize ? await orNothing(askDatabaseBytes(connection, signal)) : undefined;
  // An etcd that takes no writes answers reads as ever: what shows is that no kubelet can renew its lease.
  const isMute = nodes?.some(({ silent }) => silent) === true && nodes.every(({ ready }) => !ready);
  const writesRefused = isMute ? await orNothing(tryWrite(connection, signal)) : undefined;
  return {
    ...(nodes ? { nodes } : {}),
    ...(etcdPods ? { etcdPods } : {}),
    ...(writesRefused ? { writesRefused } : {}),
    databaseBytes,
  };
}

/** Makes signals that abort after a time or with another signal; `end` takes their timers away. */
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
