import { CONFIG_MAPS, type ConfigMap } from '#api/core.ts';
import { internalAnnotations, labels } from '#api/names.ts';
import type { Clock } from '#base/clock.ts';
import { ttlCache } from '#base/ttl-cache.ts';
import type { Client } from '#runtime/client/client.ts';

/** Limit of the logs of all clusters in a namespace, as text; compressed they have a tenth of that. */
const NAMESPACE_BYTES = 256 * 1024 ** 2;
/** Size that each attempt may log even if the namespace is over its limit. */
const ATTEMPT_BYTES = 256 * 1024;
const REMEMBER_MS = 30_000;
const NAMESPACES = 1_000;

/** Limits the space that the logs of a namespace's clusters take in etcd. */
export interface LogBudget {
  /** Returns why an attempt may log no more; undefined while it may. `had`: bytes of its log. */
  refusal(namespace: string, had: number): Promise<string | undefined>;
}

/** Sums the sizes in the heads of logs; a running attempt updates its size there at each step. */
export function logBudgetIn(
  client: Client,
  namespace: string,
  clock: Clock,
  most: number = NAMESPACE_BYTES,
): LogBudget {
  const used = ttlCache<number>({ clock, forMs: REMEMBER_MS, size: NAMESPACES });
  return {
    async refusal(of, had) {
      if (had < ATTEMPT_BYTES) return undefined;
      const bytes = await used.get(of, async () => {
        const labelSelector = `${labels.purpose}=log,${labels.clusterNamespace}=${of}`;
        const { items } = await client.list<ConfigMap>(CONFIG_MAPS, { namespace, labelSelector });
        return items.reduce(
          (sum, { metadata }) => sum + Number(metadata.annotations?.[internalAnnotations.bytes] ?? 0),
          0,
        );
      });
      return bytes < most
        ? undefined
        : `the clusters of namespace ${of} keep ${most / 1024 ** 2} MiB of logs, which is the most; delete clusters, or wait until older operations are forgotten`;
    },
  };
}
