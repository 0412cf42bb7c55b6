import type { Connection } from '#cluster-access/connection.ts';
import type { WritesRefused } from './judge/seen.ts';

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';
/** A name that only the probe uses; the object is created to be removed. */
const NAME = 'matryoshka-write-probe';
const MAX_BYTES = 64 * 1024;

/** Errors of etcd as the API server passes them on (etcd, api/v3/rpc/rpctypes: ErrGRPCNoSpace, ErrGRPCCorrupt). */
const REFUSALS: readonly (readonly [WritesRefused, RegExp])[] = [
  ['NoSpace', /etcdserver: mvcc: database space exceeded/],
  ['Corrupt', /etcdserver: corrupt cluster/],
];

/**
 * Creates and removes an object to find out why etcd refuses writes. Undefined if the write succeeds or fails for another
 * reason. Rejects if the API server does not answer.
 */
export async function tryWrite(
  connection: Connection,
  signal: AbortSignal,
): Promise<WritesRefused | undefined> {
  const options = { signal, maxBytes: MAX_BYTES };
  const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: NAME } };
  const made = await connection.send(LEASES, { method: 'POST', body }, options);
  // An existing object remains from an interrupted probe.
  if (made.status === 201 || made.status === 409) {
    await connection.send(`${LEASES}/${NAME}`, { method: 'DELETE' }, options);
    return undefined;
  }
  return REFUSALS.find(([, pattern]) => pattern.test(made.body))?.[0];
}
