import type { Served } from './traffic.ts';

/** What a process has served since it began; plain data, which adds up over processes. */
export interface Counts {
  byStatus: Record<string, number>;
  seconds: number;
  bytesIn: number;
  bytesOut: number;
  connections: number;
}

export const noCounts = (): Counts => ({
  byStatus: {},
  seconds: 0,
  bytesIn: 0,
  bytesOut: 0,
  connections: 0,
});

export function count(counts: Counts, { status, ms, bytesIn, bytesOut }: Served): void {
  counts.byStatus[status] = (counts.byStatus[status] ?? 0) + 1;
  counts.seconds += ms / 1000;
  counts.bytesIn += bytesIn;
  counts.bytesOut += bytesOut;
}

export function sumOf(all: readonly Counts[]): Counts {
  const sum = noCounts();
  for (const { byStatus, ...numbers } of all) {
    for (const [status, times] of Object.entries(byStatus))
      sum.byStatus[status] = (sum.byStatus[status] ?? 0) + times;
    sum.seconds += numbers.seconds;
    sum.bytesIn += numbers.bytesIn;
    sum.bytesOut += numbers.bytesOut;
    sum.connections += numbers.connections;
  }
  return sum;
}
