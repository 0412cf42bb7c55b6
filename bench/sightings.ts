import { JOBS, type Job, PODS, type Pod, SECRETS } from '#api/core.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { createLogger } from '#base/log.ts';
import { createInformer } from '#runtime/cache/informer.ts';
import type { Client } from '#runtime/client/client.ts';

const NAMESPACE = 'matryoshka-system';

/**
 * Times at which a state was first seen in the operator's namespace, in ms since 1970. The objects' own times have whole
 * seconds.
 */
export interface Sightings {
  at(what: Sight): number | undefined;
  stop(): Promise<void>;
}
type Sight = 'pod' | 'pod-ended' | 'report' | 'job-ended';

const isAttempt = (name: string): boolean => name.startsWith('create-');

/** Watches the objects of the next creation. */
export async function watchSightings(client: Client): Promise<Sightings> {
  const times = new Map<Sight, number>();
  const stop = new AbortController();
  const log = createLogger('silent');
  const note = (what: Sight, holds: boolean): void => {
    if (holds && !times.has(what)) times.set(what, Date.now());
  };
  const watched = <T extends KubeObject>(resource: Resource, check: (object: T, name: string) => void) => {
    const informer = createInformer<T>({ client, resource, selection: { namespace: NAMESPACE }, log });
    const seen = (object: T) => check(object, object.metadata.name ?? '');
    informer.addHandler({
      // Existing objects belong to an earlier creation.
      add: (object, { initial }) => {
        if (!initial) seen(object);
      },
      update: (_before, after) => seen(after),
    });
    const running = informer.run(stop.signal);
    return { running, synced: informer.whenSynced() };
  };
  const all = [
    watched<Pod>(PODS, ({ status }, name) => {
      note('pod', isAttempt(name));
      note('pod-ended', isAttempt(name) && status?.phase === 'Succeeded');
    }),
    watched<Job>(JOBS, ({ status }, name) =>
      note(
        'job-ended',
        isAttempt(name) &&
          status?.conditions?.some(({ type, status: is }) => type === 'Complete' && is === 'True') === true,
      ),
    ),
    watched(SECRETS, (_secret, name) => note('report', name.startsWith('report-create-'))),
  ];
  await Promise.all(all.map(({ synced }) => synced));
  return {
    at: (what) => times.get(what),
    async stop() {
      stop.abort(new Error('seen enough'));
      await Promise.all(all.map(({ running }) => running));
    },
  };
}
