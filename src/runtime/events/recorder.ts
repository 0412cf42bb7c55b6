import type { KubeObject, Resource } from '#api/meta.ts';
import { shortHash } from '#base/canonical.ts';
import { type Clock, sleep, systemClock } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import type { Logger } from '#base/log.ts';
import type { Client } from '../client/client.ts';
import { isAlreadyExists, isApiError, isNotFound, isUncertain } from '../wire/api-error.ts';
import { type Correlated, createCorrelator } from './event-correlator.ts';

const EVENTS: Resource = { group: '', version: 'v1', kind: 'Event', plural: 'events', namespaced: true };

/** core/v1 Event, as `kubectl describe` shows it. */
interface Event extends KubeObject {
  involvedObject: Record<string, string | undefined>;
  type: string;
  reason: string;
  message: string;
  count: number;
  firstTimestamp: string;
  lastTimestamp: string;
  source: { component: string };
  reportingComponent: string;
  reportingInstance: string;
}

export interface Recorder {
  /** Reports an Event about an object. Never throws, never waits; loses Events rather than work. */
  event(about: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string): void;
  /** Writes pending Events, for at most 3 s. */
  stop(): Promise<void>;
}

export interface RecorderOptions {
  client: Client;
  /** Component that reports the Events. */
  component: string;
  /** Instance of the component: the pod's name. */
  instance?: string | undefined;
  log: Logger;
  clock?: Clock | undefined;
}

const MAX_PENDING = 1000;
const MAX_MESSAGE = 1024;

/** Creates a recorder. Source: client-go tools/record/event.go. */
export function createRecorder(options: RecorderOptions): Recorder {
  const { client, component, log, clock = systemClock } = options;
  const correlate = createCorrelator({ clock });
  const pending: { event: Event; correlated: Correlated }[] = [];
  const ending = new AbortController();
  let writing: Promise<void> | undefined;
  let stopped = false;

  async function drain(): Promise<void> {
    for (let next = pending.shift(); next; next = pending.shift())
      await write(next.event, next.correlated.count);
    writing = undefined;
  }

  async function write(event: Event, count: number): Promise<void> {
    const { namespace = '', name = '' } = event.metadata;
    for (let tries = 0; tries < 3 && !ending.signal.aborted; tries += 1) {
      try {
        const call = { signal: ending.signal, timeoutMs: 10_000 };
        if (count === 1 || !(await repeat({ namespace, name }, event, call)))
          await client.create(EVENTS, event, call);
        return;
      } catch (error) {
        if (isAlreadyExists(error)) return;
        if (!isUncertain(error) && !isApiError(error, 'TooManyRequests')) {
          // A namespace that is being deleted accepts no Events, which is expected.
          log.debug({ error: messageOf(error), reason: event.reason }, 'event not written');
          return;
        }
        await sleep(1000 * 2 ** tries, ending.signal, clock).catch(() => {});
      }
    }
  }

  /** Counts a repetition of a written Event; returns false if the Event is gone. */
  async function repeat(
    key: { namespace: string; name: string },
    { count, message, lastTimestamp }: Event,
    call: { signal: AbortSignal; timeoutMs: number },
  ): Promise<boolean> {
    try {
      await client.patch(EVENTS, key, { count, message, lastTimestamp }, { type: 'merge', ...call });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  function compose(about: KubeObject, type: string, reason: string, correlated: Correlated): Event {
    const { apiVersion, kind, metadata } = about;
    const { name = '', namespace, uid, resourceVersion } = metadata;
    const now = clock.now();
    const first = new Date(now.getTime() - (clock.monotonicMs() - correlated.firstMs));
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: {
        // Repetitions get the same name. The uid separates objects of one name; the instance and the time separate runs.
        name: `${name}.${shortHash(`${component}/${options.instance}/${correlated.key}/${correlated.firstMs}`, 16)}`,
        namespace: namespace || 'default',
      },
      involvedObject: { apiVersion, kind, name, namespace, uid, resourceVersion },
      type,
      reason,
      message: correlated.message.slice(0, MAX_MESSAGE),
      count: correlated.count,
      firstTimestamp: seconds(first),
      lastTimestamp: seconds(now),
      source: { component },
      reportingComponent: component,
      reportingInstance: options.instance ?? '',
    };
  }

  return {
    event(about, type, reason, message) {
      try {
        if (stopped) return;
        const { uid, namespace, name } = about.metadata;
        const correlated = correlate({ about: uid ?? `${namespace}/${name}`, type, reason, message });
        if (!correlated || pending.length >= MAX_PENDING) return;
        pending.push({ event: compose(about, type, reason, correlated), correlated });
        writing ??= drain();
      } catch (error) {
        log.warn({ error: messageOf(error), reason }, 'event not recorded');
      }
    },
    async stop() {
      stopped = true;
      const cancel = clock.after(3000, () => ending.abort(new Error('stopping')));
      await writing;
      cancel();
      ending.abort(new Error('stopped'));
    },
  };
}

/** Formats a metav1.Time, which has whole seconds. */
function seconds(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}
