import { describe, expect, it } from 'vitest';
import type { Backend } from '../routing/backends.ts';
import { commandsFor, needsReload, payloadsOf } from './changes.ts';
import { type Served, stateOf } from './state.ts';

const own = { cert: 'own cert', key: 'own key' };
const paths = { folder: '/run/x', adminSocket: '/run/x/admin-1.sock' };
const state = (
  backends: Record<string, Partial<Backend>>,
  certificates: Partial<Served['certificates']> = {},
  hosts: Served['routes']['hosts'] = new Map(),
) =>
  stateOf(
    {
      routes: {
        hosts,
        backends: new Map(
          Object.entries(backends).map(([name, more]) => [
            name,
            { protocol: 'http1', endpoints: [], ...more },
          ]),
        ),
      },
      certificates: { hosts: new Map(), pairs: new Map(), ...certificates },
    },
    own,
  );
const pair = (name: string) => ({ cert: `${name} cert`, key: `${name} key` });
const shown = (hosts: Record<string, string | null>, ...pairs: string[]) => ({
  hosts: new Map(Object.entries(hosts)),
  pairs: new Map(pairs.map((name) => [name, pair(name)])),
});

describe('HAProxy is reloaded', () => {
  const before = state({ 'ns/a:80': {} }, shown({ h: 'ns/tls' }, 'ns/tls'));
  it.each([
    ['for another backend', state({ 'ns/a:80': {}, 'ns/b:80': {} }, shown({ h: 'ns/tls' }, 'ns/tls')), true],
    [
      'for another protocol',
      state({ 'ns/a:80': { protocol: 'h2c' } }, shown({ h: 'ns/tls' }, 'ns/tls')),
      true,
    ],
    [
      'for a host that shows another certificate',
      state({ 'ns/a:80': {} }, shown({ h: 'ns/o' }, 'ns/o')),
      true,
    ],
    ['for a host without its certificate', state({ 'ns/a:80': {} }), true],
    ['not for a backend that is removed', state({}, shown({ h: 'ns/tls' }, 'ns/tls')), false],
    [
      'not for endpoints, rules and one more certificate',
      state(
        { 'ns/a:80': { endpoints: ['10.0.0.1:80'] } },
        shown({ h: 'ns/tls', i: 'ns/o' }, 'ns/tls', 'ns/o'),
        new Map([['h', { paths: [{ path: '/', match: 'prefix', backend: 'ns/a:80' }] }]]),
      ),
      false,
    ],
  ])('%s', (_what, after, expected) => {
    expect(needsReload(before, after)).toBe(expected);
  });
});

it('endpoints are added before others are removed', () => {
  const before = state({ 'ns/a:80': { endpoints: ['10.0.0.1:80'] } });
  const after = state({ 'ns/a:80': { endpoints: ['10.0.0.2:80', '[fd00::1]:80'] } });
  expect(
    commandsFor(before, after, paths).map(({ command }) => command.split(' ').slice(0, 4).join(' ')),
  ).toEqual([
    ...['add server ns_a_80/10.0.0.2:80 10.0.0.2:80', 'enable health ns_a_80/10.0.0.2:80'],
    ...['set server ns_a_80/10.0.0.2:80 state', 'add server ns_a_80/fd00::1:80 [fd00::1]:80'],
    ...['enable health ns_a_80/fd00::1:80', 'set server ns_a_80/fd00::1:80 state'],
    ...['set server ns_a_80/10.0.0.1:80 state', 'del server ns_a_80/10.0.0.1:80'],
  ]);
});

it('a renewed certificate replaces the previous one under its name', () => {
  const before = state({}, shown({ h: 'ns/tls' }, 'ns/tls'));
  const after = state({}, { hosts: new Map([['h', 'ns/tls']]), pairs: new Map([['ns/tls', pair('newer')]]) });
  expect(commandsFor(before, after, paths)).toMatchObject([
    {
      command: expect.stringMatching(/^set ssl cert \/run\/x\/certificates\/ns_tls-[0-9a-f]{16}\.pem$/),
      payload: 'newer cert\nnewer key\n',
    },
    { command: expect.stringMatching(/^commit ssl cert /) },
  ]);
});

it('map lines are sent in as few payloads as HAProxy reads, each line whole', () => {
  const map = new Map(Array.from({ length: 1_000 }, (_, at) => [`h${at}.example|/`, `ns_${at}_80`]));
  const payloads = payloadsOf(map);
  expect(payloads.length).toBeLessThan(5);
  expect(Math.max(...payloads.map(({ length }) => length))).toBeLessThan(16_000);
  expect(payloads.join('')).toBe([...map].map(([key, value]) => `${key} ${value}\n`).join(''));
});

it('a line that HAProxy would read as two entries is left out', () => {
  const map = new Map([
    ['h|/', 'ns_a_80'],
    [`h|/${'a'.repeat(20_000)}`, 'ns_b_80'],
  ]);
  expect(payloadsOf(map)).toEqual(['h|/ ns_a_80\n']);
});
