import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { KubeObject } from '#api/meta.ts';
import { type Clock, systemClock } from '#base/clock.ts';
import type { Fields, Logger } from '#base/log.ts';
import { type FaultProxy, startFaultProxy } from '#lab/fault-proxy/start.ts';
import { createInformer, type Informer, type InformerOptions } from '#runtime/cache/informer.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { CONFIG_MAPS, type ConfigMap, type TestNamespace } from '#runtime/testing/test-namespace.ts';
import type { CallerOptions } from '#runtime/wire/call.ts';
import type { Endpoint } from '#runtime/wire/endpoint.ts';

/** The run's API server behind a faulty proxy. `test.client` still connects to it directly. */
export interface ProxiedServer {
  readonly proxy: FaultProxy;
  readonly endpoint: Endpoint;
  /** Returns a client that connects through the proxy. It is closed after the tests of the file. */
  client(options?: Partial<CallerOptions>): Client;
}

/** Sets up the proxy. Call it at the top of a test file, after useNamespace. Each test starts without faults. */
export function useProxy(test: TestNamespace): ProxiedServer {
  let proxy: FaultProxy | undefined;
  const clients: Client[] = [];
  const started = () => {
    if (!proxy) throw new Error('the proxy is there from beforeAll on');
    return proxy;
  };
  beforeAll(async () => {
    const { ca } = await test.endpoint.tls();
    proxy = await startFaultProxy({ url: test.endpoint.url, ca });
  });
  beforeEach(() => {
    started().setRules(() => undefined);
    started().setConnectionFault(() => undefined);
    started().present('valid');
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await proxy?.stop();
  });
  const world: ProxiedServer = {
    get proxy() {
      return started();
    },
    get endpoint() {
      const { url, ca } = started();
      return { ...test.endpoint, url, tls: () => ({ ca }) };
    },
    client(options = {}) {
      const client = createClient(world.endpoint, { userAgent: 'test', ...options });
      clients.push(client);
      return client;
    },
  };
  return world;
}

/** Returns a runner for informers, which stop at the end of the test: `await using caches = runInformers()`. */
export function runInformers() {
  const stop = new AbortController();
  const running: Promise<void>[] = [];
  return {
    signal: stop.signal,
    async start<T extends KubeObject = ConfigMap>(
      options: Omit<InformerOptions<T>, 'resource'> & Partial<InformerOptions<T>>,
      withinMs = 10_000,
    ): Promise<Informer<T>> {
      const informer = createInformer<T>({ resource: CONFIG_MAPS, ...options });
      running.push(informer.run(stop.signal));
      await informer.whenSynced(AbortSignal.timeout(withinMs));
      return informer;
    },
    /** Adds other work that ends with the signal, such as a controller. */
    also(work: Promise<void>) {
      running.push(work);
    },
    async [Symbol.asyncDispose]() {
      stop.abort(new Error('the test is over'));
      await Promise.all(running);
    },
  };
}

/** Resolves when the informers' caches satisfy `holds`. Rejects after `ms` with what it waited for. */
export async function eventually(
  informers: Informer<KubeObject> | readonly Informer<KubeObject>[],
  what: string | (() => string),
  holds: () => boolean,
  ms = 15_000,
): Promise<void> {
  const met = Promise.withResolvers<void>();
  const check = () => {
    if (holds()) met.resolve();
  };
  const leave = [informers].flat().map((one) => one.addHandler({ add: check, update: check, delete: check }));
  check();
  await within(met.promise, ms, what).finally(() => {
    for (const one of leave) one();
  });
}

/** Rejects after `ms` if the promise has not resolved, with a name for it. */
export async function within<A>(promise: Promise<A>, ms: number, what: string | (() => string)): Promise<A> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(new Error(`not within ${ms} ms: ${typeof what === 'string' ? what : what()}`));
  }, ms);
  return Promise.race([promise, late.promise]).finally(() => clearTimeout(timer));
}

/** Returns `name@resourceVersion` of each object, in order, to compare two views of one kind. */
export const versions = (objects: readonly KubeObject[]): string[] =>
  objects.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`).sort();

export interface RecordedLine {
  level: 'info' | 'warn' | 'error';
  message: string;
  fields: Fields;
}

/** Returns a logger that records its lines, except debug lines. */
export function recordingLog(): { log: Logger; lines: RecordedLine[] } {
  const lines: RecordedLine[] = [];
  const at = (level: RecordedLine['level']) => (fields: Fields, message: string) =>
    void lines.push({ level, message, fields });
  const log: Logger = {
    debug() {},
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: () => log,
  };
  return { log, lines };
}

/** Returns a clock whose timers fire `times` as early, for long waits whose length does not matter. */
export const hurried = (times: number): Clock => ({
  ...systemClock,
  after: (ms, run) => systemClock.after(ms / times, run),
});

/** Returns a generator of numbers in [0, 1), the same for the same seed (Lehmer, MINSTD). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
