import { expect, it } from 'vitest';
import { hostWith, messageOf, warningsOf } from '../testing/good-host.ts';

it('names missing programs with their packages', () => {
  const host = hostWith(['@missing ss', '@missing modprobe']);
  expect(messageOf(host)).toBe(
    'ss, modprobe is not installed; the roles need it (Debian: apt-get install iproute2 kmod)',
  );
});

it('warns about a missing program that is optional', () => {
  expect(warningsOf(hostWith(['@missing openssl']))).toEqual(['programs']);
  expect(warningsOf(hostWith(['@missing nft']))).toEqual([]);
  expect(warningsOf(hostWith(['@missing nft', '@missing iptables-save']))).toEqual(['programs']);
});
