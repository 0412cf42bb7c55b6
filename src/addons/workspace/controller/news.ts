import { EVENTS, type Event, type Pod } from '#api/core.ts';
import type { KubeObject } from '#api/meta.ts';
import type { Client } from '#runtime/client/client.ts';
import { isApiError } from '#runtime/wire/api-error.ts';
import { ageMs, GRACE_MS, type Trouble } from './trouble.ts';

/** Events that are read of one object. */
const MAX_EVENTS = 50;
/** Those of the scheduler say what the pod's own condition says. */
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

/** A pod that waits for long without a word about it in its state: Events of it and of its volume tell why. */
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
    const told = [await lastWarning(client, pod), claim && (await lastWarning(client, claim))];
    const texts = told.flatMap((event) => (event ? [`${event.reason}: ${event.message}`] : []));
    return texts.length === 0 ? trouble : { ...trouble, message: [trouble.message, ...texts].join('; ') };
  } catch (error) {
    if (isApiError(error)) return trouble;
    throw error;
  }
}
