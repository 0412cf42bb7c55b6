import type { KubeObject, Resource } from '#api/meta.ts';
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { createInformer, type Informer, type InformerView } from '../cache/informer.ts';
import type { Client } from '../client/client.ts';
import type { Controller } from '../controller/controller.ts';
import type { Recorder } from '../events/recorder.ts';
import type { Election } from '../leader/leader.ts';
import type { Metrics } from './metrics.ts';

/** Resources of the process that all controllers share. */
export interface ControllerHostOptions {
  client: Client;
  clock: Clock;
  log: Logger;
  /** The operator's namespace. */
  namespace: string;
  recorder: Recorder;
  /** Concurrent reconciles of a kind. */
  workers: number;
  /** Term of the process, if it is elected; undefined while it does not lead. Absent: the process runs without election. */
  term?: Election['term'];
  metrics?: Pick<Metrics, 'registry' | 'controller' | 'informer' | 'expiry'>;
}

export interface ControllerHost extends ControllerHostOptions {
  /** Returns the informer of that kind and selection; all callers share it. */
  informer<T extends KubeObject>(resource: Resource, view?: InformerView<T>): Informer<T>;
  /** Informers that callers requested. */
  readonly informers: readonly Informer<KubeObject>[];
}

/** Creates the controllers of a folder. */
export type ControllerModule = (host: ControllerHost) => readonly Controller[];

/** Shared informer, and the view of its first caller. */
interface Shared {
  informer: Informer<KubeObject>;
  view: { transform?: unknown; indexers?: Readonly<Record<string, unknown>> | undefined; resyncMs?: unknown };
}

/** Creates the host of one process: callers that ask for the same kind and selection get the same informer. */
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

/** Returns the part of a view that the first view lacks; a view with fewer parts may share the informer. */
function lacking(first: Shared['view'], asked: Shared['view']): string | undefined {
  if (asked.transform !== undefined && asked.transform !== first.transform) return 'transform';
  if (asked.resyncMs !== undefined && asked.resyncMs !== first.resyncMs) return 'resyncMs';
  const index = Object.entries(asked.indexers ?? {}).find(
    ([name, values]) => first.indexers?.[name] !== values,
  );
  return index && `index "${index[0]}"`;
}

/** Whether two informers have the same kind and selection, and so the same objects. */
const isLike = <T extends KubeObject>(one: Informer<KubeObject>, other: Informer<T>): one is Informer<T> =>
  one.identity === other.identity;
