import type { KubeObject, Resource } from '#api/meta.ts';

export const LEASES: Resource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
};

/** coordination.k8s.io/v1 Lease. Times are MicroTime: exactly six digits after the point. */
export interface Lease extends KubeObject {
  spec?: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
}

/** Formats a time as RFC 3339 with microseconds, which Go's MicroTime requires. */
function microTime(date: Date): string {
  return date.toISOString().replace('Z', '000Z');
}

/** Returns the lease as held by `identity`; `undefined` frees it, so that another process can take it at once. */
export function heldBy(lease: Lease, identity: string | undefined, leaseMs: number, now: Date): Lease {
  const spec = lease.spec ?? {};
  const same = spec.holderIdentity === identity;
  return {
    ...lease,
    spec: {
      ...spec,
      holderIdentity: identity ?? '',
      leaseDurationSeconds: identity === undefined ? 1 : Math.ceil(leaseMs / 1000),
      renewTime: microTime(now),
      acquireTime: same && spec.acquireTime ? spec.acquireTime : microTime(now),
      leaseTransitions: (spec.leaseTransitions ?? 0) + (same || identity === undefined ? 0 : 1),
    },
  };
}
