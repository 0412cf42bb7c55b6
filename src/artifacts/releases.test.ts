import { expect, it } from 'vitest';
import { canonicalJson, sha256 } from '#base/canonical.ts';
import { releases } from './releases.ts';

/**
 * Every shipped release, with the sum of its definition. Clusters of a release are scaled, repaired and joined with that
 * definition: add a line for a new release, and never change or remove one.
 */
const SHIPPED: Readonly<Record<string, string>> = {
  'v1.34.4': 'b112f0776ca75693ce3ba4177466a5a01884877d928bdec47520f74e17d983f6',
  'v1.35.4': '1e9643a1ff749d5f4dfb2d1cd8f314be9ae3f52cc0e6974c29753b8e2506a223',
  'v1.36.3': 'ccdbfab6100fda746a906ae69211a44e23c89f4ea97561a0422fc9b097806d47',
};

it('keeps the definition of every shipped release, and lists each new release', () => {
  const sums = Object.fromEntries(
    releases.map((release) => [release.kubernetes, sha256(canonicalJson(release))]),
  );
  expect(sums).toEqual(SHIPPED);
});
