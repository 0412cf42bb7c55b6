import { z } from 'zod';
import type { Service } from '#api/core.ts';
import type { Ingress, IngressAddress } from '#api/networking.ts';

const balanced = z.object({
  status: z.object({
    loadBalancer: z.object({
      ingress: z.array(z.object({ ip: z.string().exactOptional(), hostname: z.string().exactOptional() })),
    }),
  }),
});

/** Returns the addresses of the proxy: those of its load balancer, and those written into its Service by hand. */
export function addressesOf(service: Service | undefined): IngressAddress[] {
  const found = balanced.safeParse(service);
  const given = (service?.spec?.externalIPs ?? []).map((ip) => ({ ip }));
  return [...(found.success ? found.data.status.loadBalancer.ingress : []), ...given];
}

/** Returns the addresses in the status of an Ingress, without ports, which the controller does not write. */
export const presentOf = ({ status }: Ingress): IngressAddress[] =>
  (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ({
    ...(ip === undefined ? {} : { ip }),
    ...(hostname === undefined ? {} : { hostname }),
  }));
