import { afterAll, beforeAll, expect, it } from 'vitest';
import { SECRETS, secretText } from '#api/core.ts';
import { KUBERNETES_CLUSTERS } from '#api/kubernetes-cluster.ts';
import type { Resource } from '#api/meta.ts';
import { eventually } from '#base/testing/eventually.ts';
import { keyPair } from '#base/testing/key-pair.ts';
import { asksOfAlice } from '../testing/asks-of-alice.ts';
import { type RestWorld, restWorld } from '../testing/rest-world.ts';

let world: RestWorld;
beforeAll(async () => {
  world = await restWorld();
});
afterAll(() => world.stop());

const { alice, path, create, secretOf } = asksOfAlice(() => world);
const admissionregistration = (kind: string, plural: string): Resource => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind,
  plural,
  namespaced: false,
});

/** Refuses updates of the cluster of that name, as an admission webhook may; `expression` allows some. */
async function refuseUpdates(name: string, expression = 'false'): Promise<void> {
  const policyName = `refuse-${name}`;
  await world.admin.create(
    admissionregistration('ValidatingAdmissionPolicy', 'validatingadmissionpolicies'),
    {
      metadata: { name: policyName },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: [KUBERNETES_CLUSTERS.group],
              apiVersions: ['*'],
              operations: ['UPDATE'],
              resources: [KUBERNETES_CLUSTERS.plural],
              resourceNames: [name],
            },
          ],
        },
        validations: [{ expression, message: 'not today' }],
      },
    },
  );
  await world.admin.create(
    admissionregistration('ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings'),
    { metadata: { name: policyName }, spec: { policyName, validationActions: ['Deny'] } },
  );
  const label = { metadata: { labels: { tried: 'true' } } };
  const key = { namespace: world.namespace, name };
  await eventually(() =>
    world.admin
      .patch(KUBERNETES_CLUSTERS, key, label, { type: 'merge' })
      .then(() => undefined)
      .catch(() => true),
  );
}

const retry = (name: string, privateSSHKey: string) =>
  world.call(alice(), 'POST', path(name), { retry: true, privateSSHKey });

it('keeps the earlier SSH key if admission refuses a retry', async () => {
  expect((await create('kept')).status).toBe(200);
  const before = await secretOf('kept');
  await refuseUpdates('kept');
  expect((await retry('kept', keyPair().private)).status).toBeGreaterThanOrEqual(400);
  expect(await secretOf('kept')).toEqual(before);
});

it('stores the new key of an accepted retry', async () => {
  expect((await create('renewed')).status).toBe(200);
  const { private: key } = keyPair();
  expect((await retry('renewed', key)).status).toBe(200);
  expect(secretText(await secretOf('renewed'), 'ssh-privatekey')).toBe(`${key.trim()}\n`);
});

it('returns why a retry failed, and leaves no key in a new Secret', async () => {
  expect((await create('lost')).status).toBe(200);
  await world.admin.delete(SECRETS, { namespace: world.namespace, name: 'lost-ssh' });
  await refuseUpdates('lost', 'request.dryRun');
  expect(await retry('lost', keyPair().private)).toMatchObject({
    status: expect.toSatisfy((status: number) => status < 500),
    text: expect.stringContaining('not today'),
  });
  expect((await secretOf('lost'))?.data ?? {}).toEqual({});
});
