import { expect, it } from 'vitest';
import { checkOptions } from './check-options.ts';

const good = {
  host: ['192.168.7.10'],
  nodeName: 'meta',
  podCidr: '10.245.0.0/16',
  serviceCidr: '10.97.0.0/16',
  servedNamespaces: ['default'],
  addons: [],
  offeredAddons: ['localservice'],
};

it('accepts the defaults, and names every wrong option with its value', () => {
  expect(() => checkOptions(good)).not.toThrow();
  const check = () =>
    checkOptions({
      ...good,
      nodeName: 'Bad_Name',
      servedNamespaces: ['default', 'Team A', 'matryoshka-system'],
      podCidr: '10.1.2.3/16',
      serviceCidr: 'nonsense',
      addons: ['ingres'],
    });
  for (const part of [
    '--node-name: "Bad_Name"',
    '--served-namespaces: "Team A"',
    '--served-namespaces: "matryoshka-system" is a system',
    '--pod-cidr: "10.1.2.3/16"',
    '--service-cidr: "nonsense"',
    '--addons: "ingres"',
  ])
    expect(check).toThrow(part);
  expect(() => checkOptions({ ...good, serviceCidr: '10.245.1.0/24' })).toThrow(
    '--service-cidr: "10.245.1.0/24" overlaps podCIDR',
  );
});

it('accepts dual-stack networks if pods and Services have the same families', () => {
  const both = {
    ...good,
    podCidr: '10.245.0.0/16,fd00:10:245::/56',
    serviceCidr: '10.97.0.0/16,fd00:10:97::/112',
  };
  expect(() => checkOptions(both)).not.toThrow();
  for (const [change, why] of [
    [{ serviceCidr: '10.97.0.0/16' }, 'the same families'],
    [{ serviceCidr: '10.97.0.0/16,fd00:10:245::/112' }, 'overlaps podCIDR'],
    [{ serviceCidr: '10.97.0.0/16,fd00:10:97::/64' }, 'is too large'],
    [{ host: ['fd00:1::1'] }, '--host: "fd00:1::1" is IPv6'],
    [{ host: ['10.245.0.7'] }, '--host: "10.245.0.7" lies in podCIDR'],
    [
      { podCidr: 'fd00:10:245::/56,10.245.0.0/16', serviceCidr: 'fd00:10:97::/112,10.97.0.0/16' },
      'names the IPv6 network first',
    ],
  ] as const)
    expect(() => checkOptions({ ...both, ...change })).toThrow(why);
});

it('accepts one host or three', () => {
  const of = (...host: string[]) => checkOptions({ ...good, host });
  expect(of('192.168.7.10', '192.168.7.11', '192.168.7.12')).toBe('192.168.7.10');
  expect(() => of('192.168.7.10', '192.168.7.11')).toThrow(
    '--host: "192.168.7.10,192.168.7.11" names 2 hosts; name one, or three',
  );
  expect(() => of()).toThrow('names 0 hosts');
  expect(() => of('192.168.7.10', '192.168.7.11', '192.168.7.10')).toThrow('--host: ');
});
