import { canonicalIp, LISTS, nodeNameOf } from '#api/host.ts';
import type { ClusterSpec, Spec } from '#api/kubernetes-cluster.ts';
import { canonicalJson, shortHash } from '#base/canonical.ts';
import { remembered } from '#base/remembered.ts';

/** Fields that take effect at the next operation and are never compared (docs/reference/requests.md). */
const UNCOMPARED = ['authConfig', 'credentialsSecret', 'drain', 'upgrade', 'timeout_mins'] as const;

/** Returns the part of a spec that defines the cluster; lists by address, without SSH details. */
export function comparable(spec: Spec): Record<string, unknown> {
  const cluster: Record<string, unknown> = { ...spec.cluster };
  for (const field of UNCOMPARED) delete cluster[field];
  for (const list of LISTS) {
    const hosts = (spec.cluster[list] ?? []).map((host) => ({
      ip: canonicalIp(host.ip) ?? host.ip,
      name: nodeNameOf(host),
      labels: host.labels ?? {},
      taints: host.taints ?? [],
    }));
    cluster[list] = hosts.sort((a, b) => (a.ip < b.ip ? -1 : 1));
  }
  return { cluster, addons: spec.addons };
}

/** Returns a hash that is equal for specs of the same cluster, whatever the order and spelling of their hosts. */
export const specHashOf = remembered((spec: Spec): string => shortHash(canonicalJson(comparable(spec)), 16));

/** Returns a spec without credentials, as `app.kubernetes.io/spec` keeps it. */
export function withoutCredentials(spec: Spec): Spec {
  const { authConfig: _secret, ...cluster }: ClusterSpec = spec.cluster;
  return { ...spec, cluster };
}
