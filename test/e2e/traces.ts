import { differences, snapshotHost } from '#lab/host-snapshot.ts';
import type { Meta } from '#lab/meta/meta.ts';

/** Records the hosts before any cluster exists. Returns a function that lists the differences on one host since then. */
export async function tracesOn({ hosts }: Meta): Promise<(index: number) => Promise<string[]>> {
  const before = new Map<string, Awaited<ReturnType<typeof snapshotHost>>>();
  await Promise.all(hosts.map(async ({ name }) => before.set(name, await snapshotHost(name))));
  return async (index) => {
    const name = hosts[index]?.name ?? '';
    const was = before.get(name);
    if (!was) throw new Error(`there is no host ${index}`);
    return differences(was, await snapshotHost(name));
  };
}
