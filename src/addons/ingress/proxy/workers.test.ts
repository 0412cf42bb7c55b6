import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { flagsOfEach } from './workers.ts';

const image = readFileSync(new URL('../../../../deploy/operator.Dockerfile', import.meta.url), 'utf8');
const flags = [...image.matchAll(/"(--[^"]+)"/g)].map(([, flag = '']) => flag);
const shareOf = (of: readonly string[]): number =>
  Number(of.join(' ').match(/--max-old-space-size-percentage=(\d+)/)?.[1]);

it.each([1, 2, 8])(
  'splits the heap that the image allows among %i serving processes and their parent',
  (count) => {
    const each = shareOf(flagsOfEach(count, flags));
    expect(each).toBeGreaterThan(0);
    expect(each * (count + 1)).toBeLessThanOrEqual(shareOf(flags));
  },
);

it('leaves other flags as they are', () => {
  expect(flagsOfEach(2, ['--max-semi-space-size=4', '--max-old-space-size=512'])).toEqual([
    '--max-semi-space-size=4',
    '--max-old-space-size=512',
    '--max-semi-space-size=16',
    '--initial-heap-size=64',
  ]);
});
