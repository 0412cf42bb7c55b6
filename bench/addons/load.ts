import { type Figure, median, spread } from '../figures.ts';
import { type Pinned, processorTimeOf, requestsWithin } from './processes.ts';

/** A proxy under load; clients and endpoint are on `cores`. */
export interface Side {
  process: Pinned;
  port: number;
}
export interface Load {
  perSecond: number;
  /** Milliseconds of a core for each request, the value that other work on the machine changes least. */
  coreMs: number;
  /** The kernel's part of these milliseconds. */
  kernelMs: number;
  /** Used fraction of its cores' time. If it is well below 1, the proxy was not the bottleneck. */
  busy: number;
}
export interface Comparison {
  /** Requests a second, and core time of each. */
  figures: Figure[];
  line: string;
}

const RUNS = 3;

export function createLoad(options: {
  seconds: number;
  connections: number;
  host: string;
  clientCores: string;
  proxyCores: number;
}) {
  const { seconds, connections, host, clientCores, proxyCores } = options;

  async function load({ process: { child }, port }: Side, path: string): Promise<Load> {
    const url = `http://127.0.0.1:${port}${path}`;
    const before = await processorTimeOf(child.pid);
    const requests = await requestsWithin(seconds, { cores: clientCores, connections, url, host });
    const after = await processorTimeOf(child.pid);
    const used = after.all - before.all;
    return {
      perSecond: requests / seconds,
      coreMs: (used * 1_000) / requests,
      kernelMs: ((after.kernel - before.kernel) * 1_000) / requests,
      busy: used / seconds / proxyCores,
    };
  }

  /** Runs both in turn, after one run to warm up. `least`: minimum, as a fraction of `peer`'s requests a second. */
  async function compare(
    what: string,
    least: number,
    path: string,
    ours: Side,
    peer: Side,
  ): Promise<Comparison> {
    await load(ours, path);
    const runs: { ours: Load; peer: Load }[] = [];
    for (let run = 0; run < RUNS; run += 1)
      runs.push({ peer: await load(peer, path), ours: await load(ours, path) });
    const figure = (name: string, value: 'perSecond' | 'coreMs', bound: number): Figure => ({
      ...{ name, bound, isMoreBetter: value === 'perSecond' },
      ...{
        ours: median(runs.map((run) => run.ours[value])),
        peer: median(runs.map((run) => run.peer[value])),
      },
      runs: runs.map((run) => ({ ours: run.ours[value], peer: run.peer[value] })),
    });
    const reported = (side: 'ours' | 'peer') => {
      const all = (value: keyof Load) => runs.map((run) => run[side][value]);
      const kernel = median(all('kernelMs')) / median(all('coreMs'));
      return `${spread(all('perSecond'), 0)}/s at ${(median(all('busy')) * 100).toFixed(0)} % of its cores, ${(kernel * 100).toFixed(0)} % the kernel’s`;
    };
    return {
      figures: [
        figure(`requests a second, ${what}`, 'perSecond', least),
        figure(`core time of a request (ms), ${what}`, 'coreMs', 1 / least),
      ],
      line: `${what}: ${reported('ours')}; against ${reported('peer')}`,
    };
  }
  return { load, compare };
}
