import { z } from 'zod';
import { isEtcdOnly, isMaster } from '#api/cluster-host.ts';
import { SECRETS, type Secret, secretText } from '#api/core.ts';
import { HOSTS, type HostRecord, stateOf } from '#api/host-record.ts';
import { kubeconfigSecretName } from '#api/names.ts';
import { messageOf } from '#base/errors.ts';
import { type Access, accessIn } from '#cluster-access/access.ts';
import { connectTo } from '#cluster-access/connection.ts';
import type { Client } from '#runtime/client/client.ts';

const PORT = 6443;
const ASK_MS = 15_000;
const MAX_BYTES = 64 * 1024 * 1024;
const nodesSchema = z.object({ items: z.array(z.object({ metadata: z.object({ name: z.string() }) })) });

/** Returns how a loaded cluster differs from its Host records; empty if it does not. Reads only. */
export async function differences(
  client: Client,
  { namespace, name }: { namespace: string; name: string },
  operatorNamespace: string,
  port = PORT,
): Promise<string[]> {
  const secret = await client.find<Secret>(SECRETS, { namespace, name: kubeconfigSecretName(name) });
  const access = accessIn(secretText(secret, 'value') ?? '');
  if (!access) return ['its kubeconfig is not in the backup, or has no credentials'];
  const { items } = await client.list<HostRecord>(HOSTS, { namespace: operatorNamespace });
  const hosts = items.filter(
    (host) => host.spec.cluster === `${namespace}/${name}` && stateOf(host) === 'Joined',
  );
  const wanted = hosts.filter(({ spec }) => !isEtcdOnly(spec)).map(({ spec }) => spec.name);
  const masters = hosts.filter(({ spec }) => isMaster(spec)).map(({ spec }) => spec.ip);
  const found = await nodesOf(masters, port, access);
  if (typeof found === 'string') return [`its API does not answer: ${found}`];
  const missing = wanted.filter((node) => !found.includes(node));
  const unknown = found.filter((node) => !wanted.includes(node));
  return [
    ...(missing.length > 0 ? [`it has no node ${missing.join(', ')}, which the backup has`] : []),
    ...(unknown.length > 0 ? [`it has node ${unknown.join(', ')}, which the backup does not have`] : []),
  ];
}

/** Returns the names of the nodes by the first API server that answers, or why none does. */
async function nodesOf(ips: readonly string[], port: number, access: Access): Promise<string[] | string> {
  const reasons: string[] = [];
  for (const ip of ips) {
    const connection = connectTo(ip, port, access);
    try {
      const signal = AbortSignal.timeout(ASK_MS);
      const { status, body } = await connection.get('/api/v1/nodes', { signal, maxBytes: MAX_BYTES });
      if (status === 200)
        return nodesSchema.parse(JSON.parse(body)).items.map(({ metadata }) => metadata.name);
      reasons.push(`${ip}: HTTP ${status}`);
    } catch (error) {
      reasons.push(`${ip}: ${messageOf(error)}`);
    } finally {
      connection.close();
    }
  }
  return reasons.join('; ') || 'no control plane is on record';
}
