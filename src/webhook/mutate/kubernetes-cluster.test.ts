import { expect, it } from 'vitest';
import { annotations } from '#api/names.ts';
import { kubernetesClusterMutation } from './kubernetes-cluster.ts';

const by = (name: string) => ({ [annotations.requestedBy]: name });
const cluster = (marked?: Record<string, string>, nodeList: object[] = []) => ({
  metadata: { name: 'demo', ...(marked ? { annotations: marked } : {}) },
  spec: { cluster: { nodeList } },
});
const patch = (old: unknown, next: unknown, username = 'alice') =>
  kubernetesClusterMutation(
    {
      uid: '1',
      kind: { group: 'ecs.yun.com', kind: 'KubernetesCluster' },
      operation: 'UPDATE',
      namespace: 'a',
      name: 'demo',
      userInfo: { username, groups: [], extra: {} },
      object: next,
      oldObject: old,
    },
    { serverUser: 'server' },
  );
const path = '/metadata/annotations/ecs.yun.com~1requested-by';
const pausedBy = '/metadata/annotations/ecs.yun.com~1paused-by';
const cancelledBy = '/metadata/annotations/ecs.yun.com~1cancelled-by';
const cancelled = { [annotations.cancel]: 'bcdfghjklm', [annotations.cancelledBy]: 'carol' };
const alice = [{ op: 'add', path, value: 'alice' }];

it.each<[string, unknown, unknown, object[]]>([
  ['a creation', null, cluster({ x: 'y' }), alice],
  ['a creation in another name', null, cluster(by('bob')), alice],
  [
    'a creation without annotations',
    null,
    cluster(),
    [{ op: 'add', path: '/metadata/annotations', value: {} }, ...alice],
  ],
  ['another spec', cluster(by('bob')), cluster(by('bob'), [{ ip: '10.0.0.1' }]), alice],
  ['a word', cluster(by('bob')), cluster({ ...by('bob'), [annotations.operation]: 'creating' }), alice],
  ['a request-id', cluster(by('bob')), cluster({ ...by('carol'), [annotations.requestId]: '2' }), alice],
  ['a label', cluster(by('bob')), cluster({ ...by('bob'), team: 'a' }), []],
  ['a forged name', cluster(by('bob')), cluster(by('carol')), [{ op: 'add', path, value: 'bob' }]],
  ['a name from nowhere', cluster({}), cluster(by('carol')), [{ op: 'remove', path }]],
  [
    'a cancellation',
    cluster(by('bob')),
    cluster({ ...by('bob'), [annotations.cancel]: 'bcdfghjklm' }),
    [{ op: 'add', path: cancelledBy, value: 'alice' }],
  ],
  [
    'a cancellation that is taken away',
    cluster({ ...by('bob'), ...cancelled }),
    cluster({ ...by('bob'), [annotations.cancelledBy]: 'carol' }),
    [],
  ],
  [
    'a canceller from nowhere',
    cluster(by('bob')),
    cluster({ ...by('bob'), [annotations.cancelledBy]: 'carol' }),
    [{ op: 'remove', path: cancelledBy }],
  ],
  [
    'a pause, which asks for no operation',
    cluster(by('bob')),
    { ...cluster(by('bob')), spec: { ...cluster().spec, paused: true } },
    [{ op: 'add', path: pausedBy, value: 'alice' }],
  ],
  [
    'a deletion in another name',
    cluster(by('bob')),
    cluster({ ...by('bob'), [annotations.deletedBy]: '2026-01-01T10:00:00Z carol' }),
    [{ op: 'remove', path: '/metadata/annotations/ecs.yun.com~1deleted-by' }],
  ],
  ['what is no object', cluster({}), 'x', []],
])('patches user annotations for %s', (_what, old, next, expected) => {
  expect(patch(old, next)).toEqual(expected);
});

it('keeps the user names that the REST server writes', () => {
  expect(patch(cluster(by('bob')), cluster(by('carol'), [{ ip: '10.0.0.1' }]), 'server')).toEqual([]);
});
