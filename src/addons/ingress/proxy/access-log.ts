import type { Served } from './traffic.ts';

/** Longest path, host and method in a line: lines of several processes are whole only while they are short. */
const MAX_PATH = 1_024;
const MAX_HOST = 255;
const MAX_METHOD = 32;

/** One request as a line of JSON. The query is left out: it may hold secrets. */
export function accessLine(served: Served, now: Date): string {
  const { ms, path, host, method, isSecure, ...rest } = served;
  const line = {
    time: now.toISOString(),
    method: method.slice(0, MAX_METHOD),
    host: host.slice(0, MAX_HOST),
    ...rest,
    path: path.slice(0, MAX_PATH),
    tls: isSecure,
    ms: Math.round(ms * 10) / 10,
  };
  return `${JSON.stringify(line)}\n`;
}
