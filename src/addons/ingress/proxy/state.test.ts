import { describe, expect, it } from 'vitest';
import type { PathRule } from '../routing/compile.ts';
import { backendFinder } from '../testing/find-backend.fixture.ts';

const rule = (match: PathRule['match'], path: string): PathRule => ({
  path,
  match,
  backend: `${match} ${path}`,
});
const backend = { protocol: 'http1', endpoints: ['10.0.0.1:80'] } as const;
const finderFor = (hosts: Record<string, { paths: PathRule[]; otherwise?: string }>) => {
  const names = Object.values(hosts).flatMap(({ paths, otherwise }) => [
    ...paths.map((path) => path.backend),
    ...(otherwise === undefined ? [] : [otherwise]),
  ]);
  return backendFinder({
    hosts: new Map(Object.entries(hosts)),
    backends: new Map(names.map((name) => [name, backend])),
  });
};

describe('a path', () => {
  // Source: the table "Examples" of kubernetes.io/docs/concepts/services-networking/ingress.
  it.each<[PathRule[], string, string | undefined]>([
    [[rule('prefix', '/')], '/', 'prefix /'],
    [[rule('prefix', '/')], '/any/path', 'prefix /'],
    [[rule('exact', '/foo')], '/foo', 'exact /foo'],
    [[rule('exact', '/foo')], '/bar', undefined],
    [[rule('exact', '/foo')], '/foo/', undefined],
    [[rule('exact', '/foo/')], '/foo', undefined],
    [[rule('exact', '/foo/')], '/foo/', 'exact /foo/'],
    [[rule('exact', '/')], '/', 'exact /'],
    [[rule('exact', '/')], '/a', undefined],
    [[rule('prefix', '/foo')], '/foo', 'prefix /foo'],
    [[rule('prefix', '/foo')], '/foo/', 'prefix /foo'],
    [[rule('prefix', '/foo/')], '/foo', 'prefix /foo/'],
    [[rule('prefix', '/foo/')], '/foo/', 'prefix /foo/'],
    [[rule('prefix', '/aaa/bb')], '/aaa/bbb', undefined],
    [[rule('prefix', '/aaa/bbb')], '/aaa/bbb', 'prefix /aaa/bbb'],
    [[rule('prefix', '/aaa/bbb/')], '/aaa/bbb', 'prefix /aaa/bbb/'],
    [[rule('prefix', '/aaa/bbb')], '/aaa/bbb/', 'prefix /aaa/bbb'],
    [[rule('prefix', '/aaa/bbb')], '/aaa/bbb/ccc', 'prefix /aaa/bbb'],
    [[rule('prefix', '/aaa/bbb')], '/aaa/bbbxyz', undefined],
    [[rule('prefix', '/'), rule('prefix', '/aaa')], '/aaa/ccc', 'prefix /aaa'],
    [
      [rule('prefix', '/'), rule('prefix', '/aaa'), rule('prefix', '/aaa/bbb')],
      '/aaa/bbb',
      'prefix /aaa/bbb',
    ],
    [[rule('prefix', '/'), rule('prefix', '/aaa'), rule('prefix', '/aaa/bbb')], '/ccc', 'prefix /'],
    [[rule('prefix', '/aaa')], '/ccc', undefined],
    [[rule('prefix', '/foo'), rule('exact', '/foo')], '/foo', 'exact /foo'],
    [[rule('prefix', '/foo'), rule('exact', '/foo')], '/foo/', 'prefix /foo'],
    [[rule('prefix', '/foo')], '/FOO', undefined],
    [[rule('prefix', '/a')], '/a//b', 'prefix /a'],
    [[rule('exact', '/a/b'), rule('prefix', '/a')], '/a/b/c', 'prefix /a'],
  ])('among %j: %s finds %s', (paths, path, found) => {
    expect(finderFor({ 'a.example': { paths } })('a.example', path)).toBe(found);
  });
});

describe('a host', () => {
  const find = finderFor({
    'foo.bar.com': { paths: [rule('prefix', '/exact')] },
    '*.bar.com': { paths: [rule('prefix', '/')], otherwise: 'rest' },
    '': { paths: [rule('exact', '/any')], otherwise: 'default' },
  });
  it.each([
    ['foo.bar.com', '/exact', 'prefix /exact'],
    // The wildcard is no fallback: the host has its own rules.
    ['foo.bar.com', '/', undefined],
    ['other.bar.com', '/', 'prefix /'],
    ['baz.foo.bar.com', '/', 'default'],
    ['bar.com', '/any', 'exact /any'],
    ['nobody.example', '/', 'default'],
    ['', '/', 'default'],
  ])('%s with %s finds %s', (host, path, found) => {
    expect(find(host, path)).toBe(found);
  });
});
