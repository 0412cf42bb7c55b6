import { describe, expect, it } from 'vitest';
import { sourceProblems } from './validate-sources.ts';

const problemsOf = (...registryMirrors: { registry: string; endpoints: string[] }[]) =>
  sourceProblems({ registryMirrors });
const MIRROR = 'https://mirror.example.com';

describe('registry mirrors', () => {
  it.each([
    ['docker.io', MIRROR],
    ['registry.example.com:5000', 'http://192.0.2.1:5000'],
    ['ghcr.io', 'https://harbor.example.com/v2/ghcr'],
    ['192.0.2.1', 'http://[2001:db8::1]:5000/'],
  ])('are accepted for %s at %s', (registry, endpoint) => {
    expect(problemsOf({ registry, endpoints: [endpoint] })).toEqual([]);
  });

  it.each(['', '../../etc', 'docker.io/library', 'https://docker.io', 'a b', '$(id)', '{{ x }}', 'a:0'])(
    'are refused for registry %j',
    (registry) => {
      expect(problemsOf({ registry, endpoints: [MIRROR] })).toMatchObject([
        { field: 'spec.cluster.kubeadm.registryMirrors[0].registry', value: registry },
      ]);
    },
  );

  it.each([
    'mirror.example.com',
    'ftp://a',
    'https://a/"x',
    'https://a/$(id)',
    'https://a b',
    'https://{{a}}',
  ])('are refused at %j', (url) => {
    expect(problemsOf({ registry: 'a', endpoints: [MIRROR, url] })).toMatchObject([
      { field: 'spec.cluster.kubeadm.registryMirrors[0].endpoints[1]' },
    ]);
  });

  it('may hold no password, and the error hides it', () => {
    const problems = problemsOf({ registry: 'a', endpoints: ['https://me:hidden@mirror'] });
    expect(problems[0]?.reason).toContain('holds a user or a password');
    expect(JSON.stringify(problems)).not.toContain('hidden');
  });

  it('are listed once for each registry', () => {
    const one = { registry: 'docker.io', endpoints: [MIRROR] };
    expect(problemsOf(one, one)).toMatchObject([{ reason: 'is listed twice; join the entries' }]);
  });
});

describe('the proxy', () => {
  const proxied = (proxy: { httpProxy?: string; httpsProxy?: string; noProxy?: string[] }) =>
    sourceProblems({ proxy }).map(({ field }) => field.replace('spec.cluster.kubeadm.proxy', ''));

  it.each(['http://proxy.example.com:3128', 'https://192.0.2.1', 'http://[2001:db8::1]:3128/'])(
    'may be %s',
    (url) => {
      expect(proxied({ httpProxy: url })).toEqual([]);
      expect(proxied({ httpsProxy: url })).toEqual([]);
    },
  );

  it.each([
    'proxy:3128',
    'socks5://p:1',
    'http://p:1/path',
    'http://p"',
    'http://p%h',
    'http://$(id)',
    'http://a\nb',
  ])('may not be %j', (url) => {
    expect(proxied({ httpProxy: url, httpsProxy: url })).toEqual(['.httpProxy', '.httpsProxy']);
  });

  it('needs a URL, and may hold no password', () => {
    expect(proxied({ noProxy: ['a'] })).toEqual(['']);
    const problems = sourceProblems({ proxy: { httpProxy: 'http://me:hidden@p:1' } });
    expect(problems[0]?.reason).toContain('holds a user or a password');
    expect(JSON.stringify(problems)).not.toContain('hidden');
  });

  it('is bypassed for hosts, domains, addresses and networks only', () => {
    const good = [
      'a.example.com',
      '.example.com',
      '*.example.com',
      '192.0.2.1',
      '192.0.2.0/24',
      '2001:db8::/32',
      'a:80',
    ];
    expect(proxied({ httpProxy: 'http://p:1', noProxy: good })).toEqual([]);
    const bad = ['*', '', 'a b', 'a,b', 'a"', '%h', '{{a}}'];
    expect(proxied({ httpProxy: 'http://p:1', noProxy: bad })).toEqual(bad.map((_, i) => `.noProxy[${i}]`));
  });
});
