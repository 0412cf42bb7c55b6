import { cpus } from 'node:os';
import Table from 'cli-table3';

/** Durations of steps, in order. */
export interface Timings {
  measure<T>(what: string, work: () => Promise<T>): Promise<T>;
  print(): void;
}

export function timings(): Timings {
  const rows: [string, number][] = [];
  return {
    async measure(what, work) {
      process.stdout.write(`\n== ${what}\n`);
      const began = performance.now();
      const result = await work();
      rows.push([what, (performance.now() - began) / 1000]);
      return result;
    },
    print() {
      const table = new Table({
        head: ['what', 'seconds'],
        colAligns: ['left', 'right'],
        style: { head: [], border: [] },
      });
      for (const [what, seconds] of rows) table.push([what, seconds.toFixed(1)]);
      table.push(['all', rows.reduce((sum, [, seconds]) => sum + seconds, 0).toFixed(1)]);
      process.stdout.write(`\n${table.toString()}\n(${cpus().length} cores)\n`);
    },
  };
}
