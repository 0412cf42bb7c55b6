import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';

const savedSchema = z.object({ cluster: z.string(), done: z.array(z.string()) });

/** Records the finished steps on a cluster, so that an interrupted run continues. Another cluster starts anew. */
export async function progressOf(cluster: string, path: string) {
  const text = await readFile(path, 'utf8').catch(() => '');
  const saved = text === '' ? undefined : savedSchema.parse(JSON.parse(text));
  const done = saved?.cluster === cluster ? [...saved.done] : [];
  return {
    has: (step: string): boolean => done.includes(step),
    async add(step: string): Promise<void> {
      done.push(step);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, JSON.stringify({ cluster, done }, null, 1));
    },
  };
}
