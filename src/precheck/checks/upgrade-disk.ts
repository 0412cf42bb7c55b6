import { z } from 'zod';
import { type Check, error, fine } from '../check.ts';

const GIB = 1024 ** 2;

const limits = z.object({
  /** Space for the programs and images of an upgrade. */
  upgradeDiskGiB: z.number().default(3),
});

/** Copies of etcd's data during an upgrade: the snapshot, and one that kubeadm makes before it restarts the member. */
const COPIES = 2;

/** Checks the space under /var/lib before an upgrade. The check `disk` asks for it. */
export const upgradeDisk: Check = {
  name: 'upgrade-disk',
  script: () => `say etcdKiB "$(($(wc -c < /var/lib/etcd/member/snap/db || echo 0) / 1024))"`,
  limits,
  good: '@etcdKiB 0',
  check({ host, limits: given }) {
    if (host.upgradeTo === undefined) return fine;
    const { upgradeDiskGiB } = limits.parse(given);
    const [, free = Number.NaN] = host.said.text('disk').split(' ').map(Number);
    const data = host.said.number('etcdKiB') || 0;
    const needed = upgradeDiskGiB * GIB + COPIES * data;
    if (free >= needed) return fine;
    const has = Number.isNaN(free) ? 'an unknown number of' : Math.floor((free / GIB) * 10) / 10;
    const needs = Math.ceil((needed / GIB) * 10) / 10;
    return error(
      `has ${has} GiB free under /var/lib; an upgrade needs ${needs} for images, programs and copies of etcd's data`,
    );
  },
};
