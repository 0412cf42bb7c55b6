import type { Report } from './report.ts';

/** The kubelet keeps 4,096 bytes of a termination message. */
const MAX_VERDICT = 4000;
const MAX_MESSAGE = 1000;

/**
 * Formats the report as a termination message: without secrets, and shortened as needed. Failed hosts come with as much of
 * their reason as fits, the others only with their results.
 */
export function verdictOf({ success, reason, message, hosts }: Report): string {
  const head = { success, reason, message: message.slice(0, MAX_MESSAGE) };
  for (const length of [200, 40, 0]) {
    const reported = hosts.map(({ ip, ok, did, message: why = '' }) => ({
      ip,
      ok,
      ...(did.length === 0 ? {} : { did }),
      ...(ok || length === 0 ? {} : { message: why.slice(0, length) }),
    }));
    const text = JSON.stringify({ ...head, hosts: reported });
    if (Buffer.byteLength(text) <= MAX_VERDICT) return text;
  }
  // A message without space for its hosts lists none, and a host that is not listed does not count as done.
  return JSON.stringify({ ...head, hosts: [] });
}
