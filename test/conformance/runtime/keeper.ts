import type { KubeObject, ObjectKey, Resource } from '#api/meta.ts';
import { createLogger } from '#base/log.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import type { Client } from '#runtime/client/client.ts';
import { scopedClient } from '#runtime/client/scoped-client.ts';
import { type Controller, createController, type ReconcileContext } from '#runtime/controller/controller.ts';
import { CONFIG_MAPS, type ConfigMap, SECRETS } from '#runtime/testing/test-namespace.ts';
import { isAlreadyExists } from '#runtime/wire/api-error.ts';
import { eventually, runInformers, seeded, within } from './world.ts';

/** The object kept for each ConfigMap with label `kept`: a Secret of the same name with the map's value. */
export interface Secret extends KubeObject {
  data?: Record<string, string>;
}

const KEPT = { kept: 'yes' };
export const DONE = 'example.com/done';
const encoded = (text: string) => Buffer.from(text).toString('base64');

export interface Keeper {
  readonly maps: Informer<ConfigMap>;
  readonly secrets: Informer<Secret>;
  readonly controller: Controller;
  /** Names, in the order in which their reconciles started. */
  readonly begun: readonly string[];
  /** Names of keys that two workers reconciled at once. */
  readonly collisions: readonly string[];
  /** Resolves when the next reconcile of that name starts. */
  next(name: string): Promise<void>;
  /** Resolves when each has the wanted value, its Secret and its annotation, with nothing left to write. */
  settled(names: readonly string[], wanted: string, ms?: number): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Runs a controller of the usual shape. It creates an owned object with a deterministic name, keeps it up to date, and
 * reports in an annotation. The tests check its caches and what it recorded of itself.
 */
export async function startKeeper(options: {
  client: Client;
  namespace: string;
  workers?: number;
  clock?: Parameters<typeof createController>[0]['clock'];
  /** Replaces the keeping, for tests of what a reconcile may do. */
  instead?: (key: ObjectKey, context: ReconcileContext) => Promise<{ requeueAfterMs?: number } | undefined>;
}): Promise<Keeper> {
  const { client, namespace, workers = 2, clock, instead } = options;
  const log = createLogger('silent');
  const caches = runInformers();
  const cache = <T extends KubeObject>(resource: Resource, seed: number) =>
    caches.start<T>({
      client,
      resource,
      selection: { namespace, labelSelector: 'kept=yes' },
      log,
      random: seeded(seed),
      clock,
    });
  const [maps, secrets] = await Promise.all([cache<ConfigMap>(CONFIG_MAPS, 3), cache<Secret>(SECRETS, 5)]);
  const begun: string[] = [];
  const collisions: string[] = [];
  const active = new Set<string>();
  const waiting = new Map<string, PromiseWithResolvers<void>>();

  async function keep(key: ObjectKey, context: ReconcileContext) {
    const map = maps.get(key);
    if (!map) return undefined;
    const mine = scopedClient(client, context);
    const wanted = map.data?.['wanted'] ?? '';
    const { name = '', uid = '' } = map.metadata;
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name, uid, controller: true };
    const secret: Secret = {
      metadata: { ...key, labels: KEPT, ownerReferences: [owner] },
      data: { copy: encoded(wanted) },
    };
    let found = secrets.get(key);
    if (!found) {
      found = await mine.create<Secret>(SECRETS, secret).catch((error: unknown) => {
        // The object may come from a write of ours whose response was lost; the deterministic name finds it.
        if (isAlreadyExists(error)) return mine.get<Secret>(SECRETS, key);
        throw error;
      });
    }
    if (found.metadata.ownerReferences?.[0]?.uid !== uid) throw new Error(`${name}: another's Secret`);
    if (found.data?.['copy'] !== encoded(wanted)) {
      await mine.update<Secret>(SECRETS, { ...found, data: { ...found.data, copy: encoded(wanted) } });
    }
    if (map.metadata.annotations?.[DONE] !== wanted) {
      const annotations = { ...map.metadata.annotations, [DONE]: wanted };
      await mine.update<ConfigMap>(CONFIG_MAPS, { ...map, metadata: { ...map.metadata, annotations } });
    }
    return undefined;
  }

  const controller = createController<ConfigMap>({
    name: 'keeper',
    for: maps,
    owns: [secrets],
    workers,
    log,
    clock,
    async reconcile(key, context) {
      const { name } = key;
      if (active.has(name)) collisions.push(name);
      active.add(name);
      begun.push(name);
      waiting.get(name)?.resolve();
      waiting.delete(name);
      try {
        return await (instead ?? keep)(key, context);
      } finally {
        active.delete(name);
      }
    },
  });
  caches.also(controller.run(caches.signal));

  const isSettled = (name: string, wanted: string) => {
    const [map, secret] = [maps.get({ namespace, name }), secrets.get({ namespace, name })];
    return (
      map?.data?.['wanted'] === wanted &&
      map?.metadata.annotations?.[DONE] === wanted &&
      secret?.data?.['copy'] === encoded(wanted)
    );
  };

  return {
    maps,
    secrets,
    controller,
    begun,
    collisions,
    next(name) {
      const one = waiting.get(name) ?? Promise.withResolvers<void>();
      waiting.set(name, one);
      return within(one.promise, 15_000, `a reconcile of ${name}`);
    },
    async settled(names, wanted, ms = 20_000) {
      const what = () => `settled: ${names.filter((name) => !isSettled(name, wanted)).join(', ')}`;
      await eventually([maps, secrets], what, () => names.every((name) => isSettled(name, wanted)), ms);
    },
    [Symbol.asyncDispose]: () => caches[Symbol.asyncDispose](),
  };
}

/** Returns a ConfigMap for the keeper. */
export const kept = (key: ObjectKey, wanted: string): ConfigMap => ({
  metadata: { ...key, labels: KEPT },
  data: { wanted },
});
