import { expect, it } from 'vitest';
import { creationAnnotations } from '#access/testing/made-cluster.fixture.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { manifestsUsedAnew } from './manifest-use.ts';

const file = (configMap: string, sum = 'a') => ({ configMap, key: 'a.yaml', sha256: sum.repeat(64) });
const cluster = (
  manifests: ReturnType<typeof file>[],
  marked: Record<string, string> = {},
): KubernetesCluster => ({
  metadata: { namespace: 'a', name: 'demo', annotations: marked },
  spec: { cluster: { masterList: [{ ip: '10.0.0.1' }] }, addons: { manifests } },
});
const failed = { [annotations.operation]: 'create-failed' };
const asked = { [annotations.operation]: 'creating' };
const made = creationAnnotations('id1', cluster([file('one')]).spec);
const ids = (id: string) => ({ [annotations.requestId]: id });

it.each<[string, KubernetesCluster | undefined, KubernetesCluster, string[]]>([
  ['of a new object, all', undefined, cluster([file('one'), file('two')]), ['one', 'two']],
  [
    'of a creation that is asked, all',
    cluster([file('one')], failed),
    cluster([file('one')], asked),
    ['one'],
  ],
  [
    'of one that is asked again, all',
    cluster([file('one')], ids('1')),
    cluster([file('one')], ids('2')),
    ['one'],
  ],
  ['of a label, none', cluster([file('one')]), cluster([file('one')], { team: 'a' }), []],
  ['of an edit, what comes', cluster([file('one')]), cluster([file('one'), file('two')]), ['two']],
  ['of an edit, what holds another text', cluster([file('one')]), cluster([file('one', 'b')]), ['one']],
  [
    'once the cluster is made, none, whatever is asked',
    cluster([file('one')], made),
    cluster([file('one')], { ...made, [annotations.operation]: 'scaling-up' }),
    [],
  ],
])('returns the ConfigMaps to authorize: %s', (_what, old, next, expected) => {
  const { addons } = manifestsUsedAnew({ old, next, hosts: [] });
  expect(addons?.manifests?.map(({ configMap }) => configMap)).toEqual(expected);
});
