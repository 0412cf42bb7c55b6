import { expect, it } from 'vitest';
import type { HostRules, Routes } from './compile.ts';
import { createLiveTable, createUpdateMaker } from './update.ts';

const routes = (hosts: Record<string, string>, endpoints = ['10.0.0.1:80']): Routes => ({
  hosts: new Map<string, HostRules>(
    Object.entries(hosts).map(([host, backend]) => [
      host,
      { paths: [{ path: '/', match: 'prefix', backend }] },
    ]),
  ),
  backends: new Map(Object.values(hosts).map((name) => [name, { protocol: 'http1', endpoints }])),
  certificates: new Map(),
});

it('passes on what has changed and nothing else, and is whole for who begins later', () => {
  const maker = createUpdateMaker();
  const [early, late] = [createLiveTable(), createLiveTable()];
  const pass = (next: Routes) => {
    const update = maker.next(next);
    if (update) early.apply(update);
    return update && [update.hosts.map(([host]) => host), update.backends.map(([name]) => name)];
  };
  expect(pass(routes({ a: 'x', b: 'y' }))).toEqual([
    ['a', 'b'],
    ['x', 'y'],
  ]);
  expect(pass(routes({ a: 'x', b: 'y' }))).toBeUndefined();
  const before = early.table;
  expect(pass(routes({ a: 'x', c: 'x' }))).toEqual([['c', 'b'], ['y']]);
  late.apply(maker.whole());
  for (const { table } of [early, late])
    expect(['a', 'b', 'c'].map((host) => table.find(host, '/')?.name)).toEqual(['x', undefined, 'x']);
  // Requests that look into the table of before see it as it was.
  expect(before.find('b', '/')?.name).toBe('y');
  expect(pass(routes({ a: 'x', c: 'x' }, ['10.0.0.2:80']))).toEqual([[], ['x']]);
  expect([...early.endpoints()]).toEqual(['10.0.0.2:80']);
});
