import { z } from 'zod';
import { NODES, SERVICES } from '#api/core.ts';
import type { KubeObject } from '#api/meta.ts';
import type { Client } from '#runtime/client/client.ts';

const nodeSchema = z.object({
  spec: z.object({ podCIDRs: z.array(z.string()) }),
  status: z.object({ addresses: z.array(z.object({ type: z.string(), address: z.string() })) }),
});
const serviceSchema = z.object({ spec: z.object({ clusterIPs: z.array(z.string()) }) });

/** Returns networks and addresses of a node, as the cluster reports them. */
export async function familiesOfNode(client: Client, name: string) {
  const { spec, status } = nodeSchema.parse(await client.get(NODES, { namespace: '', name }));
  const addresses = status.addresses.filter(({ type }) => type === 'InternalIP');
  return { cidrs: spec.podCIDRs, addresses: addresses.map(({ address }) => address) };
}

/** Returns the addresses of a Service on port 80 for the talking pods of that app. */
export async function serviceIpsOf(client: Client, namespace: string, app: string, more: object = {}) {
  const key = { namespace, name: app };
  const spec = { ...more, selector: { app }, ports: [{ port: 80, targetPort: 8080 }] };
  const service: KubeObject & { spec: unknown } = { metadata: key, spec };
  await client.apply(SERVICES, service, { fieldManager: 'e2e', force: true });
  return serviceSchema.parse(await client.get(SERVICES, key)).spec.clusterIPs;
}
