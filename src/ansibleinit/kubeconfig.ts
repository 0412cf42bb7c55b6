import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { inUrl } from '#api/host.ts';
import type { RunSpec } from '#protocol/run-spec.ts';
import type { SshConnection } from '#ssh/connection.ts';

/** Fields of an administrator's kubeconfig that are copied; a host could plant others, such as `exec`. */
const adminConfigSchema = z.object({
  clusters: z.array(z.object({ cluster: z.object({ 'certificate-authority-data': z.base64() }) })).min(1),
  users: z
    .array(
      z.object({
        user: z.object({ 'client-certificate-data': z.base64(), 'client-key-data': z.base64() }),
      }),
    )
    .min(1),
});

/**
 * Builds a kubeconfig for clients outside from the administrator's. Only the cluster's hosts know the endpoint's stable
 * name, so the server is the address behind it; the certificate has both. Its names contain the cluster, so that several
 * kubeconfigs can be merged.
 */
export function forClients(
  adminConfig: string,
  address: string,
  cluster: Pick<RunSpec['cluster'], 'name' | 'namespace'>,
): string {
  const { clusters, users } = adminConfigSchema.parse(parse(adminConfig));
  const name = `${cluster.name}.${cluster.namespace}`;
  const admin = `${name}-admin`;
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name,
        cluster: {
          server: `https://${inUrl(address)}:6443`,
          'certificate-authority-data': clusters[0]?.cluster['certificate-authority-data'],
        },
      },
    ],
    users: [{ name: admin, user: users[0]?.user }],
    contexts: [{ name, context: { cluster: name, user: admin } }],
    'current-context': name,
  });
}

/**
 * Returns the first control plane whose API server is ready, by a command on the host; if none is, the first that SSH
 * reaches. Returns undefined if SSH reaches none.
 */
export async function firstReady(
  masters: RunSpec['hosts'],
  connections: ReadonlyMap<string, Pick<SshConnection, 'run'>>,
): Promise<{ ip: string; connection: Pick<SshConnection, 'run'> } | undefined> {
  const reached = masters.flatMap(({ member: { ip } }) => {
    const connection = connections.get(ip);
    return connection ? [{ ip, connection }] : [];
  });
  for (const one of reached) {
    const url = `https://${inUrl(one.ip)}:6443/readyz`;
    const asked = one.connection.run(`curl -sk -m 5 --noproxy '*' '${url}'`, { timeoutMs: 10_000 });
    const answer = await asked.catch(() => undefined);
    if (answer?.stdout.trim() === 'ok') return one;
  }
  return reached[0];
}

/** Reads the administrator's kubeconfig from a control plane host. */
export async function fetchKubeconfig(
  connection: Pick<SshConnection, 'run'>,
  address: string,
  cluster: RunSpec['cluster'],
): Promise<string> {
  const { code, stdout, stderr } = await connection.run('cat /etc/kubernetes/admin.conf', {
    timeoutMs: 30_000,
  });
  if (code !== 0) throw new Error(`the kubeconfig could not be read: ${stderr.trim()}`);
  return forClients(stdout, address, cluster);
}
