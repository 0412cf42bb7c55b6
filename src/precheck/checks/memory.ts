import { z } from 'zod';
import { type Check, error, fine, joins } from '../check.ts';

/** Default: kubeadm's own preflight limit (kubernetes.io, Installing kubeadm, Before you begin). */
const limits = z.object({ memoryMiB: z.number().default(1700) });

export const memory: Check = {
  name: 'memory',
  script: () => `say memoryKiB "$(awk '/^MemTotal/ {print $2}' /proc/meminfo)"`,
  limits,
  good: '@memoryKiB 8000000',
  check(context) {
    const { memoryMiB } = limits.parse(context.limits);
    const has = Math.floor(context.host.said.number('memoryKiB') / 1024);
    if (!joins(context) || has >= memoryMiB) return fine;
    return error(
      Number.isNaN(has)
        ? 'does not say how much memory it has; see MemTotal in /proc/meminfo there'
        : `has ${has} MiB of memory; at least ${memoryMiB} are needed`,
    );
  },
};
