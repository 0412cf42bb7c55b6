import { expect, it } from 'vitest';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { hooksUsedAnew } from './hook-use.ts';

const file = (key: string, sum = 'a') => ({ configMap: 'hooks', key, sha256: sum.repeat(64) });
const cluster = (
  preCreate: ReturnType<typeof file>[] | undefined,
  {
    annotationsToSet = {},
    secret = 'keys',
    last = 1,
  }: { annotationsToSet?: Record<string, string>; secret?: string; last?: number } = {},
): KubernetesCluster => ({
  metadata: { namespace: 'a', name: 'demo', annotations: annotationsToSet },
  spec: {
    cluster: { masterList: [{ ip: `10.0.0.${last}` }], credentialsSecret: secret },
    ...(preCreate ? { hooks: { preCreate } } : {}),
  },
});
const [one, two] = [file('one'), file('two')];
const word = (text: string) => ({ annotationsToSet: { [annotations.operation]: text } });

it.each<[string, KubernetesCluster | undefined, KubernetesCluster, boolean]>([
  ['a new object without any', undefined, cluster(undefined), false],
  ['a new object', undefined, cluster([one]), true],
  ['one that comes', cluster([one]), cluster([one, two]), true],
  ['one that is another text', cluster([one]), cluster([file('one', 'b')]), true],
  ['one that goes', cluster([one, two]), cluster([one]), false],
  ['another order', cluster([one, two]), cluster([two, one]), true],
  ['one that runs twice', cluster([one]), cluster([one, one]), true],
  ['a label', cluster([one]), cluster([one], { annotationsToSet: { team: 'a' } }), false],
  ['an operation that is asked', cluster([one]), cluster([one], word('creating')), true],
  ['a deletion that is asked', cluster([one]), cluster([one], word('terminating')), false],
  ['another key to the hosts', cluster([one]), cluster([one], { secret: 'other' }), true],
  ['another host', cluster([one]), cluster([one], { last: 2 }), true],
])('requires the hook permission or not: %s', (_what, old, next, expected) => {
  expect(hooksUsedAnew({ old, next, hosts: [] }).hooks !== undefined).toBe(expected);
});
