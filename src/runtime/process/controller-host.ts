import type { KubeObject, Resource } from '#api/meta.ts';
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { createInformer, type Informer, type InformerView } from '../cache/informer.ts';
import type { Client } from '../client/client.ts';
import type { Controller } from '../controller/controller.ts';
import type { Recorder } from '../events/recorder.ts';
import type { Election } from '../leader/leader.ts';
import type { Metrics } from './metrics.ts';

/** What the process gives to every controller. */
export interface ControllerHostOptions {
  client: Client;
  clock: Clock;
  log: Logger;
  /** The operator's namespace. */
  namespace: string;
  recorder: Recorder;
  /** Objects of a kind that are reconciled at once. */
  workers: number;
  /** Of the process, which is elected; undefined while it does not lead. Absent: alone in the world. */
  term?: Election['term'];
  metrics?: Pick<Metrics, 'controller' | 'informer'>;
}

export interface ControllerHost extends ControllerHostOptions {
  /** Returns the informer of that kind and selection; all callers share it. */
  informer<T extends KubeObject>(resource: Resource, view?: InformerView<T>): Informer<T>;
  /** Every informer that was asked for. */
  readonly informers: readonly Informer<KubeObject>[];
}

/** Makes the controllers of a folder. */
export type ControllerModule = (host: ControllerHost) => readonly Controller[];

/** An informer, and the view that the first who asked for it has. */
interface Shared {
  informer: Informer<KubeObject>;
  view: { transform?: unknown; indexers?: Readonly<Record<string, unknown>> | undefined; resyncMs?: unknown };
}

/** The host of one process: whoever asks for the same kind and selection gets the same informer. */
export function createControllerHost(options: ControllerHostOptions): ControllerHost {
  const { client, clock, log, metrics } = options;
  const shared: Shared[] = [];
  return {
    ...options,
    informer<T extends KubeObject>(resource: Resource, view: InformerView<T> = {}): Informer<T> {
      const observe = metrics?.informer(resource.plural);
      const made = createInformer<T>({ client, clock, log, resource, observe, ...view });
      const first = shared.find(({ informer }) => informer.identity === made.identity);
      if (!first) {
        shared.push({ informer: made, view });
        return made;
      }
      const more = lacking(first.view, view);
      if (more !== undefined || !isLike(first.informer, made))
        throw new TypeError(`the informer of ${made.identity} is shared and has another ${more}`);
      return first.informer;
    },
    get informers() {
      return shared.map(({ informer }) => informer);
    },
  };
}

/** The part of a view that the first one lacks; a view that asks for less may share its informer. */
function lacking(first: Shared['view'], asked: Shared['view']): string | undefined {
  if (asked.transform !== undefined && asked.transform !== first.transform) return 'transform';
  if (asked.resyncMs !== undefined && asked.resyncMs !== first.resyncMs) return 'resyncMs';
  const index = Object.entries(asked.indexers ?? {}).find(
    ([name, values]) => first.indexers?.[name] !== values,
  );
  return index && `index "${index[0]}"`;
}

/** Informers of one kind and selection hold the same objects. */
const isLike = <T extends KubeObject>(one: Informer<KubeObject>, other: Informer<T>): one is Informer<T> =>
  one.identity === other.identity;
