import type { Connection } from './connection.ts';
import type { WritesRefused } from './judge/seen.ts';

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';
/** Ours alone: it is made to be removed. */
const NAME = 'matryoshka-write-probe';
const MAX_BYTES = 64 * 1024;

/** As the API server passes on what etcd answers (etcd, api/v3/rpc/rpctypes: ErrGRPCNoSpace, ErrGRPCCorrupt). */
const REFUSALS: readonly (readonly [WritesRefused, RegExp])[] = [
  ['NoSpace', /etcdserver: mvcc: database space exceeded/],
  ['Corrupt', /etcdserver: corrupt cluster/],
];

/**
 * Why etcd takes no write, by an object that is made and removed again; undefined: it takes them, or fails for another
 * reason. Rejects where the API server does not answer.
 */
export async function tryWrite(
  connection: Connection,
  signal: AbortSignal,
): Promise<WritesRefused | undefined> {
  const options = { signal, maxBytes: MAX_BYTES };
  const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: NAME } };
  const made = await connection.send(LEASES, { method: 'POST', body }, options);
  // One that is there was left by a probe that was cut off.
  if (made.status === 201 || made.status === 409) {
    await connection.send(`${LEASES}/${NAME}`, { method: 'DELETE' }, options);
    return undefined;
  }
  return REFUSALS.find(([, words]) => words.test(made.body))?.[0];
}
