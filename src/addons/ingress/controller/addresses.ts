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

/** Where clients reach the proxy: what its load balancer says, and addresses that its Service was given by hand. */
export function addressesOf(service: Service | undefined): IngressAddress[] {
  const found = balanced.safeParse(service);
  const given = (service?.spec?.externalIPs ?? []).map((ip) => ({ ip }));
  return [...(found.success ? found.data.status.loadBalancer.ingress : []), ...given];
}

/** What its status says now; ports, which we do not tell, apart. */
export const presentOf = ({ status }: Ingress): IngressAddress[] =>
  (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ({
    ...(ip === undefined ? {} : { ip }),
    ...(hostname === undefined ? {} : { hostname }),
  }));
