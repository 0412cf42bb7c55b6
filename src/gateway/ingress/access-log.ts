import type { Served } from './traffic.ts';

/** Longest path in a line: lines of several processes are whole only while they are short. */
const MAX_PATH = 1_024;

/** One request as a line of JSON. The query is left out: it may hold secrets. */
export function accessLine(served: Served, now: Date): string {
  const { ms, path, isSecure, ...rest } = served;
  const line = {
    time: now.toISOString(),
    ...rest,
    path: path.slice(0, MAX_PATH),
    tls: isSecure,
    ms: Math.round(ms * 10) / 10,
  };
  return `${JSON.stringify(line)}\n`;
}
