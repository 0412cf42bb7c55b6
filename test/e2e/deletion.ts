import { expect } from 'vitest';
import { CONFIG_MAPS, JOBS, SECRETS } from '#api/core.ts';
import { HOSTS } from '#api/host-record.ts';
import { annotations, labels } from '#api/names.ts';
import { untilCluster } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';

const OPERATOR = 'matryoshka-system';
const WITHIN_MS = 10 * 60_000;

/** Lists remaining objects of a cluster, in the operator's namespace and beside the cluster's object. */
async function leftovers({ client }: Meta, name: string, id: string): Promise<string[]> {
  const labelSelector = `${labels.clusterId}=${id}`;
  const ours = await Promise.all(
    [JOBS, SECRETS, CONFIG_MAPS, HOSTS].map(async (resource) =>
      (await client.list(resource, { namespace: OPERATOR, labelSelector })).items.map(
        ({ metadata }) => `${resource.plural} ${metadata.name}`,
      ),
    ),
  );
  const { items } = await client.list(SECRETS, { namespace: 'default' });
  const beside = items.flatMap(({ metadata: { name: secret = '' } }) =>
    [`${name}-kubeconfig`, `${name}-known-hosts`, `${name}-ssh`].includes(secret)
      ? [`secrets ${secret}`]
      : [],
  );
  return [...ours.flat(), ...beside];
}

/** Deletes a cluster through REST and waits until the cluster and its objects are gone. */
export async function deleteCluster(meta: Meta, name: string, region = 'lab'): Promise<void> {
  const cluster = await untilCluster(meta, name, () => true, 10_000);
  const id = cluster?.metadata.annotations?.[annotations.clusterId] ?? '';
  expect((await meta.rest.raw('DELETE', `/region/${region}/cluster/${name}`)).status).toBe(200);
  await untilCluster(meta, name, (one) => one === undefined, WITHIN_MS);
  // The garbage collector removes owned objects a little later.
  await expect.poll(() => leftovers(meta, name, id), { timeout: 60_000, interval: 1_000 }).toEqual([]);
}
