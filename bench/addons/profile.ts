import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';

/** What `Profiler.stop` answers. Source: the inspector protocol, Profiler.Profile; times in microseconds. */
const profileSchema = z.object({
  nodes: z.array(
    z.object({ id: z.number(), callFrame: z.object({ functionName: z.string(), url: z.string() }) }),
  ),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
});
const SOURCE = /\/src\/(.*)$/;

/** Whose a function is. */
function ownerOf({ functionName, url }: { functionName: string; url: string }): string {
  // The profiler's own beginning is none of the process's work.
  if (functionName === '(idle)' || url === 'node:inspector') return 'idle';
  if (functionName === '(garbage collector)') return 'garbage collection';
  // Outside of JavaScript: libuv and the kernel, or a native function by its name, such as a write.
  if (functionName === '(program)' || url === '') return 'native code and the kernel';
  const [, path] = SOURCE.exec(url) ?? [];
  if (path === undefined) return 'Node’s own JavaScript';
  return path.includes('ingress/http1/') ? 'our parsing and writing of HTTP' : 'our other code';
}

/** Shares of the time in which a process was at work, and its costliest functions; lines for people. */
export function summaryOf(text: string): string[] {
  const { nodes, samples, timeDeltas } = profileSchema.parse(JSON.parse(text));
  const byId = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const [owners, functions] = [new Map<string, number>(), new Map<string, number>()];
  let working = 0;
  for (const [at, id] of samples.entries()) {
    const frame = byId.get(id);
    const took = timeDeltas[at] ?? 0;
    if (!frame || ownerOf(frame) === 'idle') continue;
    working += took;
    const owner = ownerOf(frame);
    owners.set(owner, (owners.get(owner) ?? 0) + took);
    const name = `${frame.functionName || '(anonymous)'} ${SOURCE.exec(frame.url)?.[1] ?? frame.url}`.trim();
    functions.set(name, (functions.get(name) ?? 0) + took);
  }
  const most = (all: ReadonlyMap<string, number>, count: number) =>
    [...all]
      .sort(([, a], [, b]) => b - a)
      .slice(0, count)
      .map(([name, took]) => `${((took / working) * 100).toFixed(0)} % ${name}`)
      .join(', ');
  return [
    `profile of a serving process at work: ${most(owners, owners.size)}`,
    `… by function: ${most(functions, 10)}`,
  ];
}

/** Waits for a profile that another process writes. */
export async function profileAt(path: string, withinMs: number): Promise<string> {
  for (const until = performance.now() + withinMs; performance.now() < until; await sleep(100)) {
    const text = await readFile(path, 'utf8').catch(() => '');
    if (text.endsWith('\n')) return text;
  }
  throw new Error(`no profile at ${path}`);
}
