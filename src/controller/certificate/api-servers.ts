import { ENDPOINT_SLICES, type EndpointSlice } from '#api/networking.ts';
import type { Client } from '#runtime/client/client.ts';

/**
 * Returns the URLs of all API servers of the cluster of this client: those that the Service `kubernetes` names. If that is
 * hidden from the client, returns `url`, by which the client reaches one of them.
 */
export async function apiServersOf(client: Client, url: string): Promise<string[]> {
  const found = await client
    .find<EndpointSlice>(ENDPOINT_SLICES, { namespace: 'default', name: 'kubernetes' })
    .catch(() => undefined);
  const port = found?.ports?.[0]?.port ?? 443;
  const addresses = (found?.endpoints ?? []).flatMap((endpoint) => endpoint.addresses);
  if (addresses.length === 0) return [url];
  return addresses.map((ip) => `https://${ip.includes(':') ? `[${ip}]` : ip}:${port}`);
}
