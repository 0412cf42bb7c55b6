import { z } from 'zod';
import { type Check, error, fine, joins } from '../check.ts';

const GIB = 1024 ** 2;
const FACTORS: Readonly<Record<string, number>> = {
  Ki: 1,
  Mi: 1024,
  Gi: GIB,
  Ti: GIB * 1024,
  '': 1 / 1024,
  k: 1000 / 1024,
  M: 1000 ** 2 / 1024,
  G: 1000 ** 3 / 1024,
};
const threshold = z.string().regex(/^\d+(\.\d+)?(%|Ki|Mi|Gi|Ti|k|M|G)?$/);

const limits = z.object({
  /** Space for images and for the cluster's data, in addition to the space that must stay free. */
  diskGiB: z.number().default(8),
  /** `evictionHard` of the kubelet; absent: its defaults (kubernetes.io, Node-pressure Eviction). */
  evictionHard: z.record(z.string(), threshold).optional(),
});
const DEFAULTS = { 'nodefs.available': '10%', 'imagefs.available': '15%' };

/** Returns the KiB that must stay free on a file system of that size. */
function inKiB(text: string, sizeKiB: number): number {
  const [, number = '0', unit = ''] = /^([\d.]+)(.*)$/.exec(text) ?? [];
  return unit === '%' ? (Number(number) / 100) * sizeKiB : Number(number) * (FACTORS[unit] ?? 1);
}
const inGiB = (kib: number): number => Math.floor((kib / GIB) * 10) / 10;

/** Checks the space under /var/lib: below its thresholds the kubelet evicts pods and removes images. */
export const disk: Check = {
  name: 'disk',
  script: () => `say disk "$(df -Pk /var/lib | awk 'NR==2 {print $2, $4}')"`,
  limits,
  good: '@disk 100000000 90000000',
  check(context) {
    if (!joins(context)) return fine;
    const { diskGiB, evictionHard = DEFAULTS } = limits.parse(context.limits);
    const [sizeKiB = Number.NaN, freeKiB = Number.NaN] = context.host.said
      .text('disk')
      .split(' ')
      .map((text) => Number(text || Number.NaN));
    if (Number.isNaN(freeKiB))
      return error('does not say how much room it has; see what "df -Pk /var/lib" prints there');
    const kept = Object.entries(evictionHard)
      .filter(([signal]) => signal in DEFAULTS)
      .map(([signal, text]) => ({ signal, text, kib: inKiB(text, sizeKiB) }))
      .sort((a, b) => b.kib - a.kib)[0];
    const needed = diskGiB * GIB + (kept?.kib ?? 0);
    if (freeKiB >= needed) return fine;
    const why =
      kept === undefined || kept.kib === 0
        ? ''
        : `, ${inGiB(kept.kib)} of them because the kubelet evicts pods when less is free (${kept.signal} ${kept.text}); ` +
          'free some, or lower evictionHard in kubelet_config';
    return error(`has ${inGiB(freeKiB)} GiB free under /var/lib; at least ${inGiB(needed)} are needed${why}`);
  },
};
