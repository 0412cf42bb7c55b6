import type { Report } from './report.ts';

/** The kubelet keeps 4,096 bytes of a termination message. */
const MAX_VERDICT = 4000;
const MAX_MESSAGE = 1000;

/**
 * The report as a termination message: without what is secret, and as short as it must be. Hosts that failed come with
 * as much of why as there is room for; of the others only what they did.
 */
export function verdictOf({ success, reason, message, hosts }: Report): string {
  const head = { success, reason, message: message.slice(0, MAX_MESSAGE) };
  for (const length of [200, 40, 0]) {
    const told = hosts.map(({ ip, ok, did, message: why = '' }) => ({
      ip,
      ok,
      ...(did.length === 0 ? {} : { did }),
      ...(ok || length === 0 ? {} : { message: why.slice(0, length) }),
    }));
    const text = JSON.stringify({ ...head, hosts: told });
    if (Buffer.byteLength(text) <= MAX_VERDICT) return text;
  }
  // A verdict without room for its hosts names none, and what it does not name is not taken for done.
  return JSON.stringify({ ...head, hosts: [] });
}
