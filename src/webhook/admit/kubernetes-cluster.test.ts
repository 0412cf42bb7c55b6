import { expect, it } from 'vitest';
import type { Access } from '#access/access.ts';
import { createLogger } from '#base/log.ts';
import { parseLimits } from '#operations/limits.ts';
import { kubernetesClusterAdmission } from './kubernetes-cluster.ts';

const file = (configMap: string) => ({ configMap, key: 'a.yaml', sha256: 'a'.repeat(64) });
const object = {
  metadata: { namespace: 'a', name: 'demo' },
  spec: {
    cluster: { masterList: [{ ip: '10.0.0.1' }], credentialsSecret: 'keys' },
    addons: { manifests: [file('one'), file('two')] },
  },
};
const admit = (access: Pick<Access, 'refusal' | 'secretRefusal'>) =>
  kubernetesClusterAdmission(
    {
      uid: '1',
      kind: { group: 'ecs.yun.com', kind: 'KubernetesCluster' },
      operation: 'CREATE',
      namespace: 'a',
      name: 'demo',
      userInfo: { username: 'alice', groups: [], extra: {} },
      object,
    },
    {
      log: createLogger('silent'),
      offer: { versions: ['v1.34.4'] },
      controllerUser: 'controller',
      serverUser: 'server',
      hostsOf: async () => [],
      limits: () => parseLimits(undefined),
      clustersIn: async () => [],
      access: { ...access, personOf: async () => undefined },
    },
  );

it('starts all authorization reviews at once', async () => {
  const answers: (() => void)[] = [];
  // Two ConfigMaps, the kubeconfig and the Secret: no review is answered before all four were requested.
  const ask = () =>
    new Promise<undefined>((resolve) => {
      answers.push(() => resolve(undefined));
      if (answers.length === 4) for (const answer of answers) answer();
    });
  expect(await admit({ refusal: ask, secretRefusal: ask })).toEqual({ allowed: true });
});

it('reports the first refusal in order, even if another answer arrives first', async () => {
  const judgement = await admit({
    refusal: async (_user, { name }) => {
      await Promise.resolve();
      return name === 'demo' ? undefined : `may not get ${name}`;
    },
    secretRefusal: async () => 'may not get keys',
  });
  expect(judgement).toMatchObject({ allowed: false, message: 'spec.addons.manifests: may not get one' });
});
