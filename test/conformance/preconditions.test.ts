import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { LEASES, type Lease, SECRETS, type Secret, secretData } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { KubeObject } from '#api/meta.ts';
import { anchorName, annotations, claimName } from '#api/names.ts';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { createKubeconfigs } from '#controller/cluster/access.ts';
import { anchorsIn } from '#controller/cluster/anchors.ts';
import { claimsIn } from '#controller/cluster/claims.ts';
import { writeStatus } from '#controller/cluster/finish.ts';
import { observe } from '#controller/cluster/observe.ts';
import { perform } from '#controller/cluster/perform.ts';
import type { Installer } from '#installer/installer.ts';
import { NAMESPACES } from '#lab/apiserver/kinds.ts';
import { membersOf } from '#operations/members.ts';
import { isConflict } from '#runtime/api-error.ts';
import { type Client, clientOver } from '#runtime/client.ts';
import { type Ground, groundOn } from '../faults/ground.ts';

/** What is written between a look and the write that follows from it: no write goes over it. */
const namespace = `meanwhile-${randomUUID().slice(0, 8)}`;
const idle: Installer = {
  start: async () => {},
  observe: async () => ({ kind: 'absent' }),
  list: async () => [],
  remove: async () => {},
};
let ground: Ground;
let client: Client;

beforeAll(async () => {
  ground = await groundOn(inject('kubeconfigPath'));
  client = ground.client;
  await client.create(NAMESPACES, { metadata: { name: namespace } });
  await client.create(SECRETS, {
    metadata: { namespace, name: 'keys' },
    data: secretData({ username: 'root', 'ssh-privatekey': 'key' }),
  } satisfies KubeObject & { data: Record<string, string> });
});
afterAll(async () => {
  await client.delete(NAMESPACES, { namespace: '', name: namespace });
  await ground.leave();
});

/** The client as one sees it whose first call of `method` something comes before. */
function interrupted(method: string, meanwhile: () => Promise<unknown>): Client {
  let open = true;
  return clientOver({
    ...client.caller,
    async call(request) {
      if (open && request.method === method) {
        open = false;
        await meanwhile();
      }
      return client.caller.call(request);
    },
  });
}

/** A cluster as the controller saw it before somebody asked for something. */
async function outdated(name: string) {
  const made = await client.create<KubernetesCluster>(KUBERNETES_CLUSTERS, {
    metadata: { namespace, name },
    spec: { cluster: { masterList: [{ ip: '10.250.0.1' }], credentialsSecret: 'keys' } },
  });
  const asked = { metadata: { annotations: { [annotations.operation]: 'creating' } } };
  await client.patch(KUBERNETES_CLUSTERS, { namespace, name }, asked, { type: 'merge' });
  return observe(made, {
    client,
    clock: systemClock,
    offer: { versions: ['v1.34.4'] },
    anchors: anchorsIn(client, namespace),
    installer: idle,
    kubeconfigs: createKubeconfigs(systemClock),
    claimsOf: () => [],
  });
}

it('a status is not written over a word that came meanwhile', async () => {
  const snapshot = await outdated('status');
  const stall = { reason: 'NotOffered', message: 'decided upon the past' };
  await expect(writeStatus(client, snapshot, { kind: 'rest', stall })).rejects.toSatisfy(isConflict);
});

it('a word is not answered over one that came meanwhile', async () => {
  const snapshot = await outdated('word');
  const deps = {
    client,
    namespace,
    anchors: anchorsIn(client, namespace),
    claims: claimsIn(client, namespace, systemClock),
    installer: idle,
    kubeconfigs: createKubeconfigs(systemClock),
    log: createLogger('silent'),
    event: () => {},
  };
  const answer = perform([{ kind: 'answer', word: 'create-finished', applied: false }], snapshot, deps);
  await expect(answer).rejects.toSatisfy(isConflict);
});

it('a claim is not released that another cluster took meanwhile', async () => {
  const [host] = [...membersOf({ nodeList: [{ ip: '10.250.0.2' }] }).values()];
  if (!host) throw new Error('there is no host');
  const claims = claimsIn(client, namespace, systemClock);
  await claims.take('first', 'n/first', [host]);
  const late = interrupted('DELETE', async () => {
    await claims.release('first', [host.ip]);
    await claims.take('second', 'n/second', [host]);
  });
  await expect(claimsIn(late, namespace, systemClock).release('first', [host.ip])).rejects.toSatisfy(
    isConflict,
  );
  const lease = await client.get<Lease>(LEASES, { namespace, name: claimName(host.ip) });
  expect(lease.spec?.holderIdentity).toBe('second');
});

it('a sequence is not taken twice', async () => {
  const { cluster } = await outdated('sequence');
  const anchors = anchorsIn(client, namespace);
  await anchors.bind('id-sequence', { namespace, name: 'sequence' });
  const late = interrupted('PATCH', () => anchors.takeSequence('id-sequence', cluster));
  await expect(anchorsIn(late, namespace).takeSequence('id-sequence', cluster)).rejects.toSatisfy(isConflict);
  expect(await anchors.takeSequence('id-sequence', cluster)).toBe(2);
});

it('a sequence is taken from what the cache has, and from the server where that is behind', async () => {
  const { cluster } = await outdated('cached');
  const anchors = anchorsIn(client, namespace);
  await anchors.bind('id-cached', { namespace, name: 'cached' });
  const cached = await client.get<Secret>(SECRETS, { namespace, name: anchorName('id-cached') });
  let looks = 0;
  const counted = clientOver({
    ...client.caller,
    call: (request) => {
      if (request.method === 'GET' && request.path.endsWith(anchorName('id-cached'))) looks += 1;
      return client.caller.call(request);
    },
  });
  const fromCache = anchorsIn(counted, namespace, () => cached);
  expect(await fromCache.takeSequence('id-cached', cluster)).toBe(1);
  expect(looks).toBe(0);
  expect(await fromCache.takeSequence('id-cached', cluster)).toBe(2);
  expect(looks).toBe(1);
});
