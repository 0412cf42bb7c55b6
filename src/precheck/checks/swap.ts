import { z } from 'zod';
import { type Check, error, fine, joins } from '../check.ts';

/** Default: the kubelet refuses swap unless it is configured otherwise. */
export const swapLimits = z.object({ swap: z.boolean().default(false) });

export const swap: Check = {
  name: 'swap',
  script: () => `say swapKiB "$(awk 'NR>1 {s+=$3} END {print s+0}' /proc/swaps)"`,
  limits: swapLimits,
  good: '@swapKiB 0',
  check(context) {
    return !joins(context) ||
      swapLimits.parse(context.limits).swap ||
      context.host.said.number('swapKiB') === 0
      ? fine
      : error('swap is on; turn it off with "swapoff -a" and in /etc/fstab');
  },
};
