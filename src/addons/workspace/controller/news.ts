import { EVENTS, type Event, type Pod } from '#api/core.ts';
import type { KubeObject } from '#api/meta.ts';
import type { Client } from '#runtime/client/client.ts';
import { isApiError } from '#runtime/wire/api-error.ts';
import { ageMs, GRACE_MS, type Trouble } from './trouble.ts';

/** Maximum number of Events read for one object. */
const MAX_EVENTS = 50;
/** Events of the scheduler repeat the pod's own condition. */
const KNOWN = new Set(['FailedScheduling']);

async function lastWarning(client: Client, { metadata }: KubeObject): Promise<Event | undefined> {
  const { namespace = '', uid = '' } = metadata;
  const fieldSelector = `involvedObject.uid=${uid},type=Warning`;
  const { items } = await client.list<Event>(EVENTS, { namespace, fieldSelector, limit: MAX_EVENTS });
  const timeOf = ({ lastTimestamp, metadata: { creationTimestamp } }: Event) =>
    Date.parse(lastTimestamp ?? creationTimestamp ?? '') || 0;
  return items
    .filter(({ reason = '' }) => !KNOWN.has(reason))
    .sort((one, other) => timeOf(other) - timeOf(one))[0];
}

/** Adds the reason from Events of a pod and its volume, if the pod waits long and its state gives none. */
export async function withNews(
  client: Client,
  pod: Pod,
  claim: KubeObject | undefined,
  trouble: Trouble,
  now: Date,
): Promise<Trouble> {
  const isSilent = trouble.reason === 'Starting' || trouble.reason === 'Unschedulable';
  if (!isSilent || ageMs(pod, now) < GRACE_MS) return trouble;
  try {
    const reported = [await lastWarning(client, pod), claim && (await lastWarning(client, claim))];
    const texts = reported.flatMap((event) => (event ? [`${event.reason}: ${event.message}`] : []));
    return texts.length === 0 ? trouble : { ...trouble, message: [trouble.message, ...texts].join('; ') };
  } catch (error) {
    if (isApiError(error)) return trouble;
    throw error;
  }
}
