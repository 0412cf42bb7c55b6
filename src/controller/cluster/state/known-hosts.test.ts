import { expect, it } from 'vitest';
import { mergeKnownHosts } from './known-hosts.ts';

it('keeps the first key of each host and type', () => {
  const merged = mergeKnownHosts(
    '10.0.0.1 ssh-ed25519 AAA\n',
    '# note\n10.0.0.1 ssh-ed25519 BBB\n10.0.0.2 ssh-ed25519 CCC',
  );
  expect(merged).toBe('10.0.0.1 ssh-ed25519 AAA\n10.0.0.2 ssh-ed25519 CCC\n');
  expect(mergeKnownHosts(merged, merged)).toBe(merged);
});
