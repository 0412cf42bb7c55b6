import { describe, expect, it } from 'vitest';
import type { Snapshot } from '../snapshot.ts';
import { joined, outcome, recordsOf, signal, spec } from '../testing/given.fixture.ts';

const [FIRST, SECOND, THIRD] = ['10.0.0.1', '10.0.0.2', '10.0.0.3'];
const three = {
  cluster: { masterList: [FIRST, SECOND, THIRD].map((ip) => ({ ip: ip ?? '' })) },
};
const verdict = { conditions: [] };
const away = (ip: string | undefined, minutes: number): Snapshot['health'] => ({
  kind: 'seen',
  verdict,
  away: { ip: ip ?? '', forMs: minutes * 60_000 },
});
const names = (address: string | undefined): Snapshot['kubeconfig'] => ({
  kind: 'present',
  server: `https://${address}:6443`,
});
const given = {
  word: 'create-finished',
  appliedBy: 1,
  adopted: true,
  cluster: { spec: three, status: { phase: 'Running' as const } },
  hosts: recordsOf(three, 'Joined', joined[0]?.status),
};

describe('a kubeconfig that points at an absent control plane', () => {
  it('points at another one after three minutes', () => {
    const after = { ...given, health: away(FIRST, 3), kubeconfig: names(FIRST) };
    expect(signal(after)).toBe('kubeconfig-missing');
    expect(outcome(after)).toEqual({ kind: 'act', effects: [{ kind: 'point-kubeconfig', to: SECOND }] });
  });

  it.each<[string, Partial<Snapshot>]>([
    ['before that', { health: away(FIRST, 2), kubeconfig: names(FIRST) }],
    ['where another one is away', { health: away(SECOND, 9), kubeconfig: names(FIRST) }],
    ['where it names a load balancer', { health: away(FIRST, 9), kubeconfig: names('lb.example.com') }],
    ['where nobody is away', { health: { kind: 'seen', verdict }, kubeconfig: names(FIRST) }],
  ])('stays unchanged %s', (_, { health, kubeconfig }) => {
    expect(signal({ ...given, ...(health ? { health } : {}), ...(kubeconfig ? { kubeconfig } : {}) })).toBe(
      'idle',
    );
  });

  it('stays unchanged if there is no other control plane', () => {
    const alone = { ...given, cluster: { ...given.cluster, spec }, hosts: joined };
    expect(signal({ ...alone, health: away(FIRST, 9), kubeconfig: names(FIRST) })).toBe('idle');
  });
});
