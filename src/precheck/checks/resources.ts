import { type Check, error, fine, joins } from '../check.ts';

export const cpu: Check = {
  name: 'cpu',
  check(context) {
    const { host, limits } = context;
    return !joins(context) || host.facts.cpus >= limits.cpus
      ? fine
      : error(`has ${host.facts.cpus} CPU; at least ${limits.cpus} are needed`);
  },
};

export const memory: Check = {
  name: 'memory',
  check(context) {
    const { host, limits } = context;
    return !joins(context) || host.facts.memoryMiB >= limits.memoryMiB
      ? fine
      : error(`has ${host.facts.memoryMiB} MiB of memory; at least ${limits.memoryMiB} are needed`);
  },
};

export const disk: Check = {
  name: 'disk',
  check(context) {
    const { host, limits } = context;
    return !joins(context) || host.facts.diskFreeGiB >= limits.diskGiB
      ? fine
      : error(`has ${host.facts.diskFreeGiB} GiB free under /var/lib; at least ${limits.diskGiB} are needed`);
  },
};

export const swap: Check = {
  name: 'swap',
  check(context) {
    const { host, limits } = context;
    return !joins(context) || limits.swap || host.facts.swapKiB === 0
      ? fine
      : error('swap is on; turn it off with "swapoff -a" and in /etc/fstab');
  },
};
