import { expect, it } from 'vitest';
import type { Network, NetworkSpec } from '../api.ts';
import { hindranceOf } from './claims.ts';

const A = '192.0.2.1';
const B = '192.0.2.2';
/** Builds a Network. `second`: its creation time; `has`: hosts that it reached, with its address there, or none. */
const network = (
  name: string,
  second: number,
  { cidr = '10.9.0.0/24', gateway = '10.9.0.1', hosts = [{ ip: A }] }: Partial<NetworkSpec> = {},
  has: Readonly<Record<string, string>> = {},
): Network => ({
  metadata: { namespace: 'n', name, uid: name, creationTimestamp: `2026-01-01T00:00:0${second}Z` },
  spec: { cidr, gateway, hosts },
  status: {
    hosts: Object.entries(has).map(([ip, address]) => ({
      ip,
      reached: true,
      ...(address ? { address } : {}),
    })),
  },
});
const reached = { [A]: '' };
const within = { cidr: '10.9.0.128/25', gateway: '10.9.0.129' };

it.each<[string, Network, Network, RegExp | undefined]>([
  [
    'the older one gets it',
    network('new', 2),
    network('old', 1, {}, reached),
    /overlaps 10\.9\.0\.0\/24 of Network n\/old on host 192\.0\.2\.1/,
  ],
  [
    'but not where it has never come: to name a host keeps nobody from it',
    network('new', 2),
    { ...network('old', 1), status: { hosts: [{ ip: A, message: 'refuses the key or password' }] } },
    undefined,
  ],
  [
    'nor on a host because it has come to another',
    network('new', 2),
    network('old', 1, { hosts: [{ ip: A }, { ip: B }] }, { [B]: '' }),
    undefined,
  ],
  ['and has no obstacle in the newer one', network('old', 1), network('new', 2, {}, reached), undefined],
  ['of one second the uid decides', network('b', 1), network('a', 1, {}, reached), /n\/a/],
  ['nor the other way round', network('a', 1), network('b', 1, {}, reached), undefined],
  ['a part of it is enough', network('new', 2, within), network('old', 1, {}, reached), /n\/old/],
  [
    'on another host it may be used again',
    network('new', 2, { hosts: [{ ip: B }] }),
    network('old', 1, {}, reached),
    undefined,
  ],
  [
    'hosts are called by one spelling',
    network('new', 2, { hosts: [{ ip: '2001:db8:0::1' }] }),
    network('old', 1, { hosts: [{ ip: '2001:DB8::1' }] }, { '2001:db8::1': '' }),
    /2001:db8::1/,
  ],
  [
    'other addresses are free',
    network('new', 2, { cidr: '10.10.0.0/16', gateway: '10.10.0.1' }),
    network('old', 1, {}, reached),
    undefined,
  ],
  [
    'who has it keeps it from an older one who wants it now',
    network('old', 1),
    network('new', 2, {}, { [A]: '10.9.0.1/24' }),
    /n\/new/,
  ],
  [
    'and is not disturbed by that one',
    network('new', 2, {}, { [A]: '10.9.0.1/24' }),
    network('old', 1, {}, reached),
    undefined,
  ],
  [
    'what somebody still has counts, though he wants another by now',
    network('new', 2),
    network('old', 1, { cidr: '10.10.0.0/16', gateway: '10.10.0.1' }, { [A]: '10.9.0.1/24' }),
    /n\/old/,
  ],
  [
    'what one has on a host gives no right on another',
    network('new', 2, { hosts: [{ ip: A }, { ip: B }] }, { [B]: '10.9.0.1/24' }),
    network('old', 1, {}, reached),
    /on host 192\.0\.2\.1/,
  ],
])('%s', (_why, one, other, says) => {
  const hindrance = hindranceOf(one, [one, other]);
  if (says === undefined) expect(hindrance).toBeUndefined();
  else expect(hindrance).toMatchObject({ reason: 'CidrOverlap', message: expect.stringMatching(says) });
});

it('a Network in deletion requests nothing, and keeps the addresses that it has', () => {
  const going = (has: Record<string, string>): Network => {
    const one = network('old', 1, {}, has);
    return { ...one, metadata: { ...one.metadata, deletionTimestamp: '2026-01-01T00:00:09Z' } };
  };
  expect(hindranceOf(network('new', 2), [going(reached)])).toBeUndefined();
  expect(hindranceOf(network('new', 2), [going({ [A]: '10.9.0.1/24' })])).toMatchObject({
    reason: 'CidrOverlap',
  });
});

it.each([
  [{ cidr: '10.9.0.0/24; reboot' }, /spec\.cidr "10\.9\.0\.0\/24; reboot"/],
  [{ gateway: '10.10.0.1' }, /spec\.gateway "10\.10\.0\.1"/],
])('an invalid spec that the API server accepted is refused: %o', (spec, says) => {
  expect(hindranceOf(network('a', 1, spec), [])).toMatchObject({ reason: 'InvalidSpec', message: says });
});
