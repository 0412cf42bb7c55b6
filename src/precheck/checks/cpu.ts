import { z } from 'zod';
import { type Check, error, fine, joins } from '../check.ts';

/** Default: kubeadm's own preflight limit (kubernetes.io, Installing kubeadm, Before you begin). */
const limits = z.object({ cpus: z.number().default(2) });

export const cpu: Check = {
  name: 'cpu',
  script: () => 'say cpus "$(nproc || grep -c ^processor /proc/cpuinfo)"',
  limits,
  good: '@cpus 4',
  check(context) {
    const { cpus } = limits.parse(context.limits);
    const has = context.host.said.number('cpus');
    if (!joins(context) || has >= cpus) return fine;
    return error(
      Number.isNaN(has)
        ? 'does not say how many CPUs it has; see what "nproc" prints there'
        : `has ${has} CPU; at least ${cpus} are needed`,
    );
  },
};
