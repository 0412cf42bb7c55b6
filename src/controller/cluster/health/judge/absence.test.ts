import { describe, expect, it } from 'vitest';
import { type Absence, absenceAfter, judgePresence } from './absence.ts';
import type { Expected, NodeSeen, Seen, ServerSeen, ServerState } from './seen.ts';

const host = (last: number, more: Partial<Expected> = {}): Expected => ({
  ip: `10.0.0.${last}`,
  name: `n${last}`,
  controlPlane: last <= 3,
  etcd: last <= 3,
  hasNode: true,
  joined: true,
  leaving: false,
  ...more,
});
const hosts = [1, 2, 3, 4].map((last) => host(last));
const servers = (...states: ServerState[]): ServerSeen[] =>
  states.map((state, at) => ({ ip: `10.0.0.${at + 1}`, state }));
/** Returns nodes 1 to 4; those in `away` are not Ready. */
const nodesBut = (...away: number[]): NodeSeen[] =>
  [1, 2, 3, 4].map((last) => ({ name: `n${last}`, ready: !away.includes(last) }));
const pods = (...sick: number[]) =>
  [1, 2, 3].map((last) => ({ node: `n${last}`, ready: !sick.includes(last) }));
const threeAway: Seen = {
  servers: servers('ready', 'ready', 'silent'),
  nodes: nodesBut(3),
  etcdPods: pods(3),
};
const said = (seen: Partial<Seen>, of = hosts): string => {
  const { status, reason, message } = judgePresence({ ...threeAway, ...seen }, of);
  return `${status} ${reason}: ${message}`;
};
const NONE = 'True AllPresent: no control plane is away';
const UNKNOWN = 'Unknown NotJudged: no probe shows whether a control plane is away';
const several = (ips: string) => `False NotAlone: several control planes are away or not well: ${ips}`;

describe('a control plane', () => {
  it.each<[string, Partial<Seen>, string]>([
    ['is away', {}, 'False OneAway: 10.0.0.3'],
    ['cannot be reached, and its kubelet reports', { nodes: nodesBut() }, NONE],
    ['answers, and its kubelet is silent', { servers: servers('ready', 'ready', 'ready') }, NONE],
    ['refuses, and its kubelet is silent', { servers: servers('ready', 'ready', 'refusing') }, NONE],
    ['has another authority', { servers: servers('ready', 'ready', 'untrusted') }, NONE],
    ['fails its checks', { servers: servers('ready', 'ready', 'not-ready') }, NONE],
    ['has no node any more', { nodes: nodesBut(3).filter(({ name }) => name !== 'n3') }, NONE],
    [
      'is away, and so is another',
      { servers: servers('ready', 'silent', 'silent'), nodes: nodesBut(2, 3) },
      several('10.0.0.2, 10.0.0.3'),
    ],
    [
      'is away, and another is not ready',
      { servers: servers('ready', 'not-ready', 'silent') },
      several('10.0.0.2, 10.0.0.3'),
    ],
    [
      'is away, and we cannot reach another',
      { servers: servers('silent', 'ready', 'silent') },
      several('10.0.0.1, 10.0.0.3'),
    ],
    ['is away, and a member of etcd is sick', { etcdPods: pods(2, 3) }, several('10.0.0.2, 10.0.0.3')],
    ['is silent like all', { servers: servers('silent', 'silent', 'silent'), nodes: undefined }, UNKNOWN],
    ['is away while nobody tells of etcd', { etcdPods: undefined }, UNKNOWN],
    ['is away while an operation runs', { changing: true }, UNKNOWN],
    ['cannot be asked', { blind: { reason: 'KubeconfigMissing', message: 'why' }, servers: [] }, UNKNOWN],
  ])('gets the right condition when it %s', (_what, seen, expected) => {
    expect(said(seen)).toBe(expected);
  });

  it('is not the only absent one while another has not joined', () => {
    const held = host(2, { joined: false });
    expect(
      said({ servers: servers('ready').concat(servers('ready', 'ready', 'silent').slice(2)) }, [
        host(1),
        held,
        host(3),
      ]),
    ).toBe(several('10.0.0.2, 10.0.0.3'));
  });

  it('counts as away with external etcd, although no etcd pod reports', () => {
    const external = [1, 2, 3].map((last) => host(last, { etcd: false }));
    expect(said({ etcdPods: [] }, external)).toBe('False OneAway: 10.0.0.3');
  });
});

describe('the time of an absence', () => {
  const probe = (reason: string, ip = '10.0.0.3') => ({
    conditions: [judgePresence(threeAway, hosts)].map((one) => ({ ...one, reason, message: ip })),
  });
  const before: Absence = { ip: '10.0.0.3', sinceMs: 100, atMs: 500 };
  it.each<[string, Absence | undefined, string, string, number, Absence | undefined]>([
    ['begins', undefined, 'OneAway', '10.0.0.3', 700, { ip: '10.0.0.3', sinceMs: 700, atMs: 700 }],
    ['goes on', before, 'OneAway', '10.0.0.3', 700, { ip: '10.0.0.3', sinceMs: 100, atMs: 700 }],
    [
      'begins anew with another',
      before,
      'OneAway',
      '10.0.0.2',
      700,
      { ip: '10.0.0.2', sinceMs: 700, atMs: 700 },
    ],
    ['ends where it is back', before, 'AllPresent', '', 700, undefined],
    ['ends where a second is away', before, 'NotAlone', '', 700, undefined],
    ['ends where nobody can tell', before, 'NotJudged', '', 700, undefined],
    [
      'begins anew where no probe ran for long',
      before,
      'OneAway',
      '10.0.0.3',
      1_501,
      { ip: '10.0.0.3', sinceMs: 1_501, atMs: 1_501 },
    ],
  ])('%s', (_what, old, reason, ip, atMs, expected) => {
    expect(absenceAfter(old, probe(reason, ip), { atMs, maxGapMs: 1_000 })).toEqual(expected);
  });
});
