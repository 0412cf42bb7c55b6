import { stringify } from 'yaml';
import type { User } from '#access/permissions.ts';
import { canonicalIp, inUrl } from '#api/host.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { Clock } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import { createUserRequest } from '#certificates/user-request.ts';
import type { Access } from '#cluster-access/access.ts';
import { type Connection, connectTo } from '#cluster-access/connection.ts';
import { issueUserCertificate } from '#cluster-access/user-certificate.ts';
import { HttpError } from '../http/errors.ts';

/** Kubeconfigs of users for a short time, for clusters in which the users are no administrators. */

const PORT = 6443;
/** Limit for the answer of one API server. */
const READY_MS = 3_000;
const MAX_BYTES = 64 * 1024;

/**
 * Names with a meaning of their own in each cluster. A ServiceAccount of the meta cluster must not become the one of the same
 * name there, nor a group the administrators of kubeadm.
 */
const RESERVED = /^(system|kubeadm|meta):/;
const inCluster = (name: string): string => (RESERVED.test(name) ? `meta:${name}` : name);

/** Returns the name and the groups of a user of the meta cluster in the clusters. */
export const identityOf = ({ username, groups }: Pick<User, 'username' | 'groups'>) => ({
  name: inCluster(username),
  // Each cluster adds this group itself.
  groups: groups.filter((group) => group !== 'system:authenticated').map(inCluster),
});

/** Returns a connection to the first API server that is ready; the caller closes it. Throws HttpError 503 if none is. */
async function readyServer(
  ips: readonly string[],
  port: number,
  access: Access,
  timeout: (ms: number) => AbortSignal,
): Promise<Connection> {
  const reasons: string[] = [];
  for (const ip of ips) {
    const connection = connectTo(ip, port, access);
    try {
      const { status } = await connection.get('/readyz', { signal: timeout(READY_MS), maxBytes: MAX_BYTES });
      if (status === 200) return connection;
      reasons.push(`${ip}: HTTP ${status}`);
    } catch (error) {
      reasons.push(`${ip}: ${messageOf(error)}`);
    }
    connection.close();
  }
  throw new HttpError(503, `no API server of the cluster is ready: ${reasons.join('; ')}`);
}

/** Returns the YAML of a kubeconfig with a certificate for the user, which the cluster has signed. */
export async function userKubeconfig(
  { cluster, access, person }: { cluster: KubernetesCluster; access: Access; person: User },
  expirationSeconds: number,
  { clock, port = PORT }: { clock: Clock; port?: number | undefined },
): Promise<string> {
  const cancels: (() => void)[] = [];
  const timeout = (ms: number): AbortSignal => {
    const abort = new AbortController();
    cancels.push(clock.after(ms, () => abort.abort(new Error(`no answer within ${ms / 1000} s`))));
    return abort.signal;
  };
  const { masterList = [], externalLoadBalancer } = cluster.spec.cluster;
  const ips = masterList.flatMap(({ ip }) => canonicalIp(ip) ?? []);
  const { name, groups } = identityOf(person);
  let connection: Connection | undefined;
  try {
    connection = await readyServer(ips, port, access, timeout);
    const { request, key } = await createUserRequest(name, groups);
    const certificate = await issueUserCertificate(
      connection,
      { request, expirationSeconds },
      { timeout, clock },
    ).catch((error: unknown) => {
      throw new HttpError(503, `the cluster signs no certificate: ${messageOf(error)}`);
    });
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    const of = cluster.metadata.name ?? '';
    const server = `https://${inUrl(externalLoadBalancer ?? connection.ip)}:${port}`;
    return stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': of,
      clusters: [{ name: of, cluster: { server, 'certificate-authority-data': base64(access.ca) } }],
      contexts: [{ name: of, context: { cluster: of, user: name } }],
      users: [
        {
          name,
          user: { 'client-certificate-data': base64(certificate), 'client-key-data': base64(key) },
        },
      ],
    });
  } finally {
    for (const cancel of cancels) cancel();
    connection?.close();
  }
}
