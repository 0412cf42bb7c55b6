import { describe, expect, it } from 'vitest';
import { sourceProblems } from './validate-sources.ts';

const problemsOf = (...registryMirrors: { registry: string; endpoints: string[] }[]) =>
  sourceProblems({ registryMirrors });
const MIRROR = 'https://mirror.example.com';

describe('mirrors of registries', () => {
  it.each([
    ['docker.io', MIRROR],
    ['registry.example.com:5000', 'http://192.0.2.1:5000'],
    ['ghcr.io', 'https://harbor.example.com/v2/ghcr'],
    ['192.0.2.1', 'http://[2001:db8::1]:5000/'],
  ])('%s at %s', (registry, endpoint) => {
    expect(problemsOf({ registry, endpoints: [endpoint] })).toEqual([]);
  });

  it.each(['', '../../etc', 'docker.io/library', 'https://docker.io', 'a b', '$(id)', '{{ x }}', 'a:0'])(
    'are of no registry %j',
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
  ])('are not at %j', (url) => {
    expect(problemsOf({ registry: 'a', endpoints: [MIRROR, url] })).toMatchObject([
      { field: 'spec.cluster.kubeadm.registryMirrors[0].endpoints[1]' },
    ]);
  });

  it('hold no password, and none is repeated', () => {
    const problems = problemsOf({ registry: 'a', endpoints: ['https://me:hidden@mirror'] });
    expect(problems[0]?.reason).toContain('holds a user or a password');
    expect(JSON.stringify(problems)).not.toContain('hidden');
  });

  it('are named once a registry', () => {
    const one = { registry: 'docker.io', endpoints: [MIRROR] };
    expect(problemsOf(one, one)).toMatchObject([{ reason: 'is listed twice; join the entries' }]);
  });
});
