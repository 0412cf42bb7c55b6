import pMap from 'p-map';
import { Registry } from 'prom-client';
import { expect } from 'vitest';
import { type Clock, systemClock } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import { createLogger } from '#base/log.ts';
import { type Client, clientOver } from '#runtime/client/client.ts';
import type { ControllerModule } from '#runtime/process/controller-host.ts';
import { createManager } from '#runtime/process/manager.ts';
import { quietHost } from '#runtime/testing/quiet-host.fixture.ts';
import { ApiError } from '#runtime/wire/api-error.ts';
import type { ApiRequest } from '#runtime/wire/call.ts';
import { type Sight, seeing } from './seeing.fixture.ts';

/** Faults of a scenario: the controller dies, or misses an answer, at one write. */
export const FATES = ['dies before', 'dies after', 'loses the answer to'] as const;
export interface Fate {
  kind: (typeof FATES)[number];
  /** Number of the write among all writes of the scenario. */
  nth: number;
}

/** Process of the controller; after its death it writes nothing. */
export interface Mortal {
  /** Makes one write, to the API server or to a host. */
  write<T>(what: string, act: () => Promise<T>): Promise<T>;
}

export interface LifeOptions {
  /** Client with the controller's rights. */
  client: Client;
  /** Namespace of the controller. */
  namespace: string;
  clock?: Clock;
  fate?: Fate | undefined;
  /** Objects on the API server that belong to this scenario. */
  sight: Sight;
  module(process: Mortal): ControllerModule;
}

export interface Life extends AsyncDisposable {
  readonly writes: readonly string[];
  readonly isMet: boolean;
  /** Lists the writes of a new process that finds everything as wanted and checks all of it. */
  writesAtRest(): Promise<string[]>;
}

/** Formats a write: `PATCH pods/a`, `PUT workspaces/a/status`. */
const nameOf = ({ method, path }: ApiRequest): string =>
  `${method} ${path.replace(/^.*\/namespaces\/[^/]+\//, '')}`;

const AT_ONCE = 6;
/** Longest time for the end of a process, and for a full check by a new one. */
const BOUND_MS = 30_000;

/** Runs controllers one after another: when one dies, the next begins. */
export function beginLife({
  client,
  namespace,
  clock = systemClock,
  fate,
  sight,
  module,
}: LifeOptions): Life {
  const writes: string[] = [];
  const ending = new AbortController();
  let isMet = false;
  let begun = 0;
  let writtenBefore = 0;
  let dying = new AbortController();
  /** State of the running process: waiting keys by controller, keys in progress, and the number of finished reconciles. */
  let waiting = new Map<string, number>();
  let working = 0;
  let done = 0;

  function begin(): Promise<void> {
    const death = new AbortController();
    dying = death;
    begun += 1;
    writtenBefore = writes.length;
    waiting = new Map();
    [working, done] = [0, 0];
    const gone = () => new ApiError('Connection', 'the connection was reset', { status: 0 });
    const mortal: Mortal = {
      async write(what, act) {
        if (death.signal.aborted) throw gone();
        writes.push(what);
        const kind = fate && writes.length === fate.nth + 1 ? fate.kind : undefined;
        isMet ||= kind !== undefined;
        if (kind === 'dies before') {
          death.abort(new Error('died'));
          throw gone();
        }
        const answer = await act();
        if (kind === 'dies after') death.abort(new Error('died'));
        if (kind !== undefined) throw gone();
        return answer;
      },
    };
    const mine = clientOver({
      ...client.caller,
      call: (request) =>
        request.method === 'GET'
          ? client.caller.call(request)
          : mortal.write(nameOf(request), () => client.caller.call(request)),
    });
    const metrics = {
      registry: new Registry(),
      informer: () => () => {},
      expiry: () => () => {},
      controller: (name: string) => ({
        depth(now: number) {
          if (death === dying) waiting.set(name, now);
        },
        got() {
          if (death === dying) working += 1;
        },
        done() {
          if (death !== dying) return;
          working -= 1;
          done += 1;
        },
        added() {},
        retried() {},
        reconciled() {},
        active() {},
      }),
    };
    const host = quietHost({ client: mine, namespace, clock, metrics, workers: 2 });
    const controllers = seeing(module(mortal), sight)(host);
    return createManager({ caches: host.informers, controllers, log: createLogger('silent') }).run(
      AbortSignal.any([death.signal, ending.signal]),
    );
  }
  const running = (async () => {
    while (!ending.signal.aborted) await begin();
  })();

  return {
    writes,
    get isMet() {
      return isMet;
    },
    async writesAtRest() {
      const next = begun + 1;
      dying.abort(new Error('another is to look at everything'));
      await expect.poll(() => begun, { timeout: BOUND_MS }).toBeGreaterThanOrEqual(next);
      const rests = () => done > 0 && working === 0 && [...waiting.values()].every((keys) => keys === 0);
      await expect.poll(rests, { timeout: BOUND_MS }).toBe(true);
      return writes.slice(writtenBefore);
    },
    async [Symbol.asyncDispose]() {
      ending.abort(new Error('the life is over'));
      await running;
    },
  };
}

/** Result of a scenario; `told`: the faults found in it. */
export interface Lived extends Pick<Life, 'writes' | 'isMet'> {
  reported: readonly string[];
}

/**
 * Runs the scenario once without a fault, then once for each of its writes with the fault at that write. Returns the number
 * of faults that occurred, and the faults found.
 */
export async function livesThat(
  kind: Fate['kind'],
  live: (name: string, fate?: Fate) => Promise<Lived>,
): Promise<{ met: number; wrong: string[] }> {
  // The names of objects are short, so only a part fits.
  const operation = kind.split(' ')[kind.startsWith('dies') ? 1 : 0];
  const plain = await live(`${operation}-none`);
  const lives = await pMap(
    plain.writes,
    async (write, nth) => {
      const { isMet, reported } = await live(`${operation}-${nth}`, { kind, nth }).catch(
        (error: unknown) => ({
          isMet: true,
          reported: [messageOf(error)],
        }),
      );
      return { isMet, wrong: reported.map((one) => `${kind} write ${nth} (${write}): ${one}`) };
    },
    { concurrency: AT_ONCE },
  );
  return {
    met: lives.filter(({ isMet }) => isMet).length,
    wrong: [...plain.reported, ...lives.flatMap(({ wrong }) => wrong)],
  };
}
