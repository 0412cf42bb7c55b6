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

/** The run's API server behind a proxy that misbehaves; `test.client` goes on speaking to it directly. */
export interface ProxiedServer {
  readonly proxy: FaultProxy;
  readonly endpoint: Endpoint;
  /** A client through the proxy, closed after the file's tests. */
  client(options?: Partial<CallerOptions>): Client;
}

/** To be called at the top of a test file, after useNamespace. Each test begins with a proxy that passes everything. */
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

/** Informers that run until the end of the test: `await using caches = runInformers()`. */
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
    /** Anything else that ends with the signal: a controller. */
    also(work: Promise<void>) {
      running.push(work);
    },
    async [Symbol.asyncDispose]() {
      stop.abort(new Error('the test is over'));
      await Promise.all(running);
    },
  };
}

/** Resolves when the informers' caches satisfy `holds`; rejects after `ms`, saying what it was waiting for. */
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

/** Bounds a wait, and names it. */
export async function within<A>(promise: Promise<A>, ms: number, what: string | (() => string)): Promise<A> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(new Error(`not within ${ms} ms: ${typeof what === 'string' ? what : what()}`));
  }, ms);
  return Promise.race([promise, late.promise]).finally(() => clearTimeout(timer));
}

/** `name@resourceVersion` of each, in order: what two views of one kind are compared by. */
export const versions = (objects: readonly KubeObject[]): string[] =>
  objects.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`).sort();

export interface RecordedLine {
  level: 'info' | 'warn' | 'error';
  message: string;
  fields: Fields;
}

/** A logger that keeps what it is told, debug apart. */
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

/** A clock whose timers ring so many times as early: for what would wait long, where how long is not the question. */
export const hurried = (times: number): Clock => ({
  ...systemClock,
  after: (ms, run) => systemClock.after(ms / times, run),
});

/** Numbers in [0, 1), the same ones for the same seed (Lehmer, MINSTD). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
