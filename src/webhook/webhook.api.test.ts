import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { SECRETS } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations, labels } from '#api/names.ts';
import { runningOperation } from '#api/testing/running-operation.ts';
import { resolveSpec } from '#operations/resolve.ts';
import type { Client } from '#runtime/client/client.ts';
import { isApiError, isForbidden } from '#runtime/wire/api-error.ts';
import { type WebhookWorld, webhookWorld } from './testing/webhook-world.ts';

let world: WebhookWorld;
const namespace = `hook-${randomUUID().slice(0, 8)}`;
let admin: Client;
let clients: WebhookWorld['clients'];

beforeAll(async () => {
  world = await webhookWorld(namespace);
  ({ admin, clients } = world);
  // The API server loads new webhooks after a moment.
  const isJudged = async () =>
    (await verdict(clients.alice, object('probe', { cluster: { masterList: [] } }))) !== 'allowed';
  const isCompleted = async () => {
    const probe = object('probe', spec());
    const { metadata } = await clients.alice.create(KUBERNETES_CLUSTERS, probe, { dryRun: true });
    return metadata.annotations?.[annotations.requestedBy] !== undefined;
  };
  for (const isThere of [isJudged, isCompleted])
    await vi.waitUntil(isThere, { timeout: 20_000, interval: 100 });
});
afterAll(() => world.stop());

const host = (last: number) => ({ ip: `10.8.0.${last}` });
const spec = (more: object = {}, ...nodes: number[]): KubernetesCluster['spec'] => ({
  cluster: { masterList: [host(1)], nodeList: nodes.map(host), ...more },
});
const object = (
  name: string,
  wanted: KubernetesCluster['spec'],
  marked: Record<string, string> = {},
): KubernetesCluster => ({ metadata: { namespace, name, annotations: marked }, spec: wanted });

/** Returns the API server's answer to a dry run of a creation. */
async function verdict(client: Client, cluster: KubernetesCluster): Promise<string> {
  try {
    await client.create(KUBERNETES_CLUSTERS, cluster, { dryRun: true });
    return 'allowed';
  } catch (error) {
    if (isApiError(error, 'Invalid', 'Forbidden', 'BadRequest')) return error.message;
    throw error;
  }
}

const key = (name: string) => ({ namespace, name });
const patch = (who: Client, name: string, change: object, subresource?: string) =>
  who.patch<KubernetesCluster>(KUBERNETES_CLUSTERS, key(name), change, {
    type: 'merge',
    ...(subresource === undefined ? {} : { subresource }),
  });
const marked = (annotation: string, value: string | null) => ({
  metadata: { annotations: { [annotation]: value } },
});
const word = (value: string) => marked(annotations.operation, value);

const created = (name: string, ...nodes: number[]): Promise<void> => world.created(name, spec({}, ...nodes));

describe('the webhook, called by the API server', () => {
  it.each<[string, KubernetesCluster, RegExp]>([
    [
      'overlapping CIDRs',
      object('a', spec({ serviceCIDR: '10.244.0.0/24' })),
      /spec\.cluster\.serviceCIDR: overlaps/,
    ],
    [
      'networks of both families in another order',
      object('a', spec({ podCIDR: '10.244.0.0/16,fd01::/56', serviceCIDR: 'fd02::/112,10.96.0.0/16' })),
      /spec\.cluster\.serviceCIDR: is IPv6 and IPv4, and podCIDR is IPv4 and IPv6/,
    ],
    [
      'an unknown version',
      object('a', spec({ kubeVersion: 'v1.1.1' })),
      /spec\.cluster\.kubeVersion: is not offered/,
    ],
    ['a type that is not offered', object('a', spec({ clusterType: 'k3s' })), /clusterType: NotOffered/],
    [
      'a bad host',
      object('a', spec({ nodeList: [{ ip: '10.8.0.999' }] })),
      /spec\.cluster\.nodeList\[0\]\.ip: is not an IP address/,
    ],
    [
      'a host in a CIDR',
      object('a', spec({ nodeList: [{ ip: '10.244.0.1' }] })),
      /nodeList\[0\]\.ip: lies in podCIDR/,
    ],
    [
      'a kubelet that asks nobody',
      object('a', spec({ kubeadm: { kubelet: { authentication: { anonymous: { enabled: true } } } } })),
      /spec\.cluster\.kubeadm\.kubelet\.authentication: cannot be set/,
    ],
    [
      'a proxy with a password',
      object('a', spec({ kubeadm: { proxy: { httpProxy: 'http://me:word@p:1' } } })),
      /^(?!.*word@).*spec\.cluster\.kubeadm\.proxy\.httpProxy: holds a user or a password/s,
    ],
    [
      'a level of audit that is none',
      object(
        'a',
        Object.assign(spec(), { cluster: { kubeadm: { audit: { policy: { rules: [{ level: 'All' }] } } } } }),
      ),
      /spec\.cluster\.kubeadm\.audit\.policy\.rules\[0\]\.level/,
    ],
    ['a key in the object', object('a', spec({ authConfig: { privateSSHKey: 'x' } })), /credentialsSecret/],
    ['a long name', object('a'.repeat(41), spec()), /metadata\.name: is longer than 40/],
    ['a name with dots', object('a.b', spec()), /metadata\.name: is not a DNS label/],
    [
      'a word that is none',
      object('a', spec(), { [annotations.operation]: 'dancing' }),
      /is not an operation; choose one of/,
    ],
    [
      'a restore without a snapshot',
      object('a', spec(), { [annotations.operation]: 'restoring' }),
      /ecs\.yun\.com\/snapshot\]: is required/,
    ],
    ['a result', object('a', spec(), { [annotations.operation]: 'create-finished' }), /only the controller/],
    ['a forged record', object('a', spec(), { [annotations.appliedSpec]: '{}' }), /controller alone/],
    [
      'scaling what is not there',
      object('a', spec(), { [annotations.operation]: 'scaling-up' }),
      /not created yet/,
    ],
  ])('refuses %s', async (_what, cluster, reason) => {
    expect(await verdict(clients.alice, cluster)).toMatch(reason);
  });

  it('allows a valid object and a copy with its id, and checks the Secret permission', async () => {
    const good = object('good', spec({}, 2), { [annotations.operation]: 'creating' });
    expect(await verdict(clients.alice, good)).toBe('allowed');
    const copy = object('copy', spec({}, 2), {
      [annotations.operation]: 'create-finished',
      [annotations.clusterId]: 'x',
      [annotations.appliedSpec]: JSON.stringify(spec()),
    });
    expect(await verdict(clients.alice, copy)).toBe('allowed');
    const naming = object('named', spec({ credentialsSecret: 'keys' }));
    expect(await verdict(clients.bob, naming)).toMatch(/bob" may not get secrets "keys"/);
    expect(await verdict(clients.bob, object('silent', spec()))).toMatch(/secrets "silent-ssh"/);
    await expect(clients.bob.create(KUBERNETES_CLUSTERS, naming)).rejects.toSatisfy(isForbidden);
  });

  it('requires the delete permission to write terminating', async () => {
    const { alice, bob } = clients;
    await created('doomed', 2);
    await expect(patch(bob, 'doomed', word('terminating'))).rejects.toThrow(
      /may not delete .*, which "terminating" does/,
    );
    await expect(patch(alice, 'doomed', word('terminating'))).resolves.toBeDefined();
  });

  it('requires the permissions of the operation to end its dry run', async () => {
    const { alice, bob, carol } = clients;
    const isOver = marked(annotations.dryRun, null);
    await created('planned', 2);
    await patch(alice, 'planned', {
      metadata: { annotations: { [annotations.dryRun]: 'All', [annotations.operation]: 'scaling-up' } },
      spec: { cluster: { nodeList: [host(2), host(3)] } },
    });
    await expect(patch(bob, 'planned', isOver)).rejects.toThrow(/may not get secrets "planned-ssh"/);
    await patch(alice, 'planned', isOver);
    await created('spared', 2);
    await patch(alice, 'spared', {
      metadata: { annotations: { [annotations.dryRun]: 'All', [annotations.operation]: 'terminating' } },
    });
    await expect(patch(bob, 'spared', isOver)).rejects.toThrow(/may not delete .*, which "terminating" does/);
    await expect(patch(carol, 'spared', isOver)).rejects.toThrow(/may not /);
    await expect(patch(alice, 'planned', marked(annotations.dryRun, 'yes'))).rejects.toThrow(/is not "All"/);
  });

  it('lets a user with update cancel the operation by id, but not a deletion', async () => {
    const { alice, bob } = clients;
    await created('halted', 2);
    const [id, other] = ['bcdfghjklm', 'xxxxxxxxxx'];
    const operation = runningOperation({ id, spec: resolveSpec(spec({}, 2), world.offer, undefined) });
    await patch(alice, 'halted', { status: { operation } }, 'status');
    await expect(patch(bob, 'halted', marked(annotations.cancel, 'yes'))).rejects.toThrow(
      /is not the id of an operation/,
    );
    await patch(bob, 'halted', marked(annotations.cancel, id));
    await patch(alice, 'halted', marked(annotations.cancelledBy, 'nobody'));
    const { metadata } = await admin.get(KUBERNETES_CLUSTERS, key('halted'));
    expect(metadata.annotations?.[annotations.cancelledBy]).toBe(world.user('bob'));
    await patch(alice, 'halted', { metadata: { finalizers: ['kubernetescluster.ecs.yun.com/halted'] } });
    await alice.delete(KUBERNETES_CLUSTERS, key('halted'));
    const deletion = { status: { operation: { ...operation, id: other, name: 'delete' } } };
    await patch(alice, 'halted', deletion, 'status');
    await expect(patch(alice, 'halted', marked(annotations.cancel, other))).rejects.toThrow(
      /deletion, which cannot be cancelled/,
    );
    await patch(alice, 'halted', { metadata: { finalizers: [] } });
  });

  it('requires permission for the Secret in every change that makes the operator use it', async () => {
    const { alice, bob, carol } = clients;
    await created('lent', 2);
    const hosts = (...nodeList: object[]) => ({ spec: { cluster: { nodeList } } });
    const changes: object[] = [
      hosts(host(2), host(3)),
      hosts({ ...host(2), port: 2222 }),
      hosts({ ...host(2), user: 'admin' }),
      { spec: { cluster: { credentialsSecret: 'keys' } } },
      { ...word('scaling-down'), ...hosts() },
      marked(annotations.requestId, 'again'),
    ];
    for (const change of changes) {
      await expect(patch(bob, 'lent', change)).rejects.toThrow(/may not get secrets "(lent-ssh|keys)"/);
      await expect(patch(carol, 'lent', change)).rejects.toThrow(/may not get secrets "(lent-ssh|keys)"/);
    }
    // A change that reaches no host in a new way only needs the permission to change the cluster.
    await patch(bob, 'lent', { metadata: { labels: { team: 'b' } }, spec: { paused: true } });

    const lent = await admin.get<KubernetesCluster>(KUBERNETES_CLUSTERS, key('lent'));
    const own = (uid: string) => ({
      metadata: {
        ...key('lent-ssh'),
        labels: { [labels.purpose]: 'credentials' },
        ownerReferences: [{ apiVersion: 'ecs.yun.com/v1', kind: 'KubernetesCluster', name: 'lent', uid }],
      },
    });
    // A user with `use` of a cluster's credentials may use this very cluster's own Secret, but no other cluster's.
    await admin.create(SECRETS, own(randomUUID()));
    await expect(patch(carol, 'lent', hosts(host(2), host(3)))).rejects.toThrow(/may not get secrets/);
    await admin.delete(SECRETS, key('lent-ssh'));
    await admin.create(SECRETS, own(lent.metadata.uid ?? ''));
    await expect(patch(bob, 'lent', hosts(host(2), host(3)))).rejects.toThrow(/may not get secrets/);
    await patch(carol, 'lent', hosts(host(2), host(3)));
    await patch(alice, 'lent', { spec: { cluster: { credentialsSecret: 'keys' } } });
    await expect(patch(carol, 'lent', marked(annotations.requestId, 'again'))).rejects.toThrow(/"keys"/);
  });

  it('requires ConfigMap and kubeconfig permissions for manifests', async () => {
    const { alice, bob } = clients;
    const files = (...names: string[]) => ({
      addons: { manifests: names.map((configMap) => ({ configMap, key: 'a', sha256: '0'.repeat(64) })) },
    });
    const naming = (...names: string[]) => object('filed', { ...spec(), ...files(...names) });
    expect(await verdict(alice, naming('addons'))).toBe('allowed');
    expect(await verdict(alice, naming('addons', 'theirs'))).toMatch(/manifests: .*get configmaps "theirs"/);
    const other = object('other', naming('addons').spec);
    expect(await verdict(alice, other)).toMatch(/get kubernetesclusters\/kubeconfig.* "other"/);
    await alice.create(KUBERNETES_CLUSTERS, naming('addons'));
    await expect(patch(bob, 'filed', word('creating'))).rejects.toThrow(/get configmaps "addons"/);
    await expect(patch(alice, 'filed', { spec: files('theirs') })).rejects.toThrow(/configmaps "theirs"/);
    await patch(bob, 'filed', { spec: { paused: true } });
    await patch(alice, 'filed', word('creating'));
  });

  it('limits a scale operation to changes of workers', async () => {
    await created('scaled', 2, 3);
    const { alice } = clients;
    const scale = (asked: string, change: object) =>
      patch(alice, 'scaled', { ...word(asked), spec: { cluster: change } });
    const refused: [string, object, RegExp][] = [
      ['scaling-up', { masterList: [host(1), host(9)], nodeList: [2, 3, 4].map(host) }, /masterList/],
      ['scaling-up', { etcdList: [host(4)] }, /etcdList/],
      ['scaling-up', { externalLoadBalancer: '10.8.0.200' }, /externalLoadBalancer/],
      ['scaling-up', { podCIDR: '10.50.0.0/16' }, /podCIDR/],
      ['scaling-up', { serviceCIDR: '10.51.0.0/16' }, /serviceCIDR/],
      ['scaling-up', { region: 'south' }, /region/],
      ['scaling-up', { deployMode: 'binary' }, /deployMode/],
      ['scaling-up', { clusterType: 'kind' }, /clusterType/],
      ['scaling-up', { nodeList: [host(2)] }, /nodeList.*keeps every present host/],
      ['scaling-down', { nodeList: [2, 3, 4].map(host) }, /nodeList.*only removes/],
    ];
    for (const [asked, change, reason] of refused) await expect(scale(asked, change)).rejects.toThrow(reason);
    await scale('scaling-up', { nodeList: [2, 3, 4].map(host) });
  });

  it('sets the requesting user, and overrides a forged name', async () => {
    const { alice, bob, carol } = clients;
    await created('traced', 2);
    const named = async (by: string = annotations.requestedBy) =>
      (await admin.get(KUBERNETES_CLUSTERS, key('traced'))).metadata.annotations?.[by];
    await patch(carol, 'traced', marked(annotations.requestedBy, 'nobody'));
    expect(await named()).toBeUndefined();
    await patch(alice, 'traced', {
      ...word('scaling-up'),
      spec: { cluster: { nodeList: [2, 3].map(host) } },
    });
    expect(await named()).toBe(world.user('alice'));
    for (const value of ['nobody', null]) await patch(bob, 'traced', marked(annotations.requestedBy, value));
    expect(await named()).toBe(world.user('alice'));
    await patch(bob, 'traced', { spec: { paused: true } });
    expect(await named()).toBe(world.user('alice'));
    expect(await named(annotations.pausedBy)).toBe(world.user('bob'));
    // An annotation requests a deletion again.
    await patch(alice, 'traced', { metadata: { finalizers: ['kubernetescluster.ecs.yun.com/traced'] } });
    await alice.delete(KUBERNETES_CLUSTERS, key('traced'));
    await patch(carol, 'traced', marked(annotations.requestId, 'again'));
    expect(await named()).toBe(world.user('carol'));
    await patch(bob, 'traced', marked(annotations.requestedBy, 'nobody'));
    expect(await named()).toBe(world.user('carol'));
    await patch(alice, 'traced', { metadata: { finalizers: [] } });
  });

  it('refuses an edit that can never be carried out', async () => {
    await created('fixed', 2);
    const { alice } = clients;
    const edits: [object, RegExp][] = [
      [{ masterList: [host(2)], nodeList: [host(1)] }, /spec\.cluster\.masterList: NotOffered/],
      [{ imagesRegistry: 'registry.example.com' }, /spec\.cluster\.imagesRegistry: NotOffered/],
      [
        { nodeList: [{ ...host(2), labels: { rack: 'r1' } }, host(3)] },
        /NotOffered: this changes labels or taints \(.*\) and adds workers \(.*\) at once/,
      ],
    ];
    for (const [cluster, reason] of edits)
      await expect(patch(alice, 'fixed', { spec: { cluster } })).rejects.toThrow(reason);
  });

  it('lets only the controller write results and identity', async () => {
    await created('guarded');
    const { alice, controller } = clients;
    await expect(patch(alice, 'guarded', word('scale-up-finished'))).rejects.toThrow(/only the controller/);
    for (const name of [annotations.clusterId, annotations.applied, annotations.appliedSpec]) {
      for (const value of ['other', null])
        await expect(patch(alice, 'guarded', marked(name, value))).rejects.toThrow(/controller alone/);
    }
    // An existing value stays allowed beside any other change.
    await patch(alice, 'guarded', { metadata: { labels: { team: 'a' } } });
    await patch(controller, 'guarded', word('scale-up-finished'));
  });

  it('checks the permissions for a policy, and limits the controller to that policy', async () => {
    const { alice, bob, controller } = clients;
    const lists = (...masters: number[]) => ({ cluster: { masterList: masters.map(host) } });
    await world.created('remedied', spec({ masterList: [1, 2, 3].map(host) }));
    const policy = (value: object | null) => ({ spec: { policy: value } });
    const spares = { replaceFrom: [host(8), host(9)] };
    await expect(patch(bob, 'remedied', policy(spares))).rejects.toThrow(
      /may not get secrets "remedied-ssh"/,
    );
    await expect(patch(alice, 'remedied', policy({ replaceFrom: [host(1)] }))).rejects.toThrow(
      /spec\.policy\.replaceFrom\[0\]\.ip: is a host of masterList already/,
    );
    await patch(alice, 'remedied', policy(spares));
    await expect(patch(bob, 'remedied', policy({ replaceAfterMinutes: 1 }))).rejects.toThrow(
      /may not get secrets/,
    );
    // A change that lets the operator do less only needs the permission to change the cluster.
    await patch(bob, 'remedied', policy({ replaceAfterMinutes: 60 }));
    await expect(
      patch(alice, 'remedied', marked(annotations.remediedAt, '2026-01-01T00:00:00Z')),
    ).rejects.toThrow(/controller alone/);

    const remediated = (spare: number, ...left: number[]) => ({
      ...word('replacing'),
      spec: { ...lists(1, 2, spare), policy: { replaceFrom: left.map(host) } },
    });
    const alone = /spec: can be edited by the controller only to put a host of spec\.policy/;
    await expect(patch(controller, 'remedied', remediated(7, 8))).rejects.toThrow(alone);
    await expect(patch(controller, 'remedied', remediated(8))).rejects.toThrow(alone);
    await expect(patch(controller, 'remedied', { spec: { paused: true } })).rejects.toThrow(alone);
    await patch(controller, 'remedied', word('create-finished'));
    await patch(controller, 'remedied', remediated(8, 9));
    await patch(bob, 'remedied', policy(null));
  });

  it('accepts an operation annotation during an operation, and never blocks status or deletion', async () => {
    const { alice } = clients;
    await alice.create(
      KUBERNETES_CLUSTERS,
      object('busy', spec({}, 2), { [annotations.operation]: 'creating' }),
    );
    const operation = runningOperation({ spec: resolveSpec(spec({}, 2), world.offer, undefined) });
    await patch(alice, 'busy', { status: { operation } }, 'status');
    await patch(alice, 'busy', { ...word('scaling-up'), spec: { cluster: { nodeList: [2, 3].map(host) } } });
    await patch(alice, 'busy', { metadata: { finalizers: ['kubernetescluster.ecs.yun.com/busy'] } });
    await alice.delete(KUBERNETES_CLUSTERS, key('busy'));
    await patch(alice, 'busy', { spec: { paused: true } });
    await patch(alice, 'busy', { metadata: { finalizers: [] } });
    await expect.poll(() => alice.find(KUBERNETES_CLUSTERS, key('busy'))).toBeUndefined();
  });

  it('answers probes, and refuses a body that is not an AdmissionReview', async () => {
    expect((await world.app.inject('/healthz')).body).toBe('ok');
    const bad = await world.app.inject({ method: 'POST', url: '/validate/kubernetesclusters', payload: {} });
    expect(bad.statusCode).toBe(400);
  });
});
