import { describe, expect, it } from 'vitest';
import { PODS, SERVICES, VOLUME_CLAIMS } from '#api/core.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import type { Client } from '#runtime/client/client.ts';
import { isApiError } from '#runtime/wire/api-error.ts';
import type { Addon } from './addon.ts';
import { namespaceOf } from './installation.ts';
import { localService } from './local-service/addon.ts';
import { LOCAL_SERVICES } from './local-service/api.ts';
import { type AddonWorld, useAddon } from './testing/addon-world.fixture.ts';
import { workspace } from './workspace/addon.ts';
import { WORKSPACES } from './workspace/api.ts';
import { podOf } from './workspace/controller/pod.ts';

/** Tests that a compromised controller, which has its token, may do no more than the controller does. */
const image = 'registry.example/x:1';
const container = { name: 'c', image };
const owners = ({ group, version, kind }: Resource, name: string) => [
  { apiVersion: `${group}/${version}`, kind, name, uid: 'e0f1c2d3', controller: true },
];

function useAccount(addon: Addon): { test: AddonWorld; as: <T>(act: Act<T>) => Promise<T> } {
  const test = useAddon(addon);
  return {
    test,
    async as(act) {
      const client = await test.clientAs(namespaceOf(addon));
      try {
        return await act(client);
      } finally {
        await client.close();
      }
    },
  };
}
type Act<T> = (client: Client) => Promise<T>;

/** Waits until a write is refused: a policy takes effect seconds after its creation. The writes are dry runs. */
const refused = (act: () => Promise<unknown>, why: RegExp) =>
  expect
    .poll(
      () =>
        act().then(
          () => 'nobody refused it',
          (error: unknown) => (isApiError(error, 'Forbidden') ? error.message : `${error}`),
        ),
      { timeout: 20_000 },
    )
    .toMatch(why);

describe('the controller of LocalServices', () => {
  const { test, as } = useAccount(localService);
  const pod = () =>
    test.client.create<KubeObject & { spec: object }>(PODS, {
      metadata: test.key('one'),
      spec: { containers: [container] },
    });
  const patch = (client: Client, change: object) =>
    client.patch(PODS, test.key('one'), change, { type: 'merge', dryRun: true });

  it('writes one label of a pod, and nothing else', async () => {
    await pod();
    await as(async (client) => {
      const why = /writes nothing of a pod but label vm\/rack/;
      const others = [
        { metadata: { labels: { app: 'taken' } } },
        { metadata: { annotations: { a: 'b' } } },
        { metadata: { ownerReferences: owners(LOCAL_SERVICES, 'x') } },
        { metadata: { finalizers: ['x.io/stay'] } },
      ];
      const evil = [{ op: 'replace', path: '/spec/containers/0/image', value: 'registry.example/evil:1' }];
      await refused(() => client.patch(PODS, test.key('one'), evil, { type: 'json', dryRun: true }), why);
      for (const change of others) await refused(() => patch(client, change), why);
      await patch(client, { metadata: { labels: { 'vm/rack': 'a' } } });
    });
  });

  it('touches only Services of LocalServices', async () => {
    const spec = { ports: [{ port: 80 }] };
    await test.client.create(SERVICES, { metadata: test.key('theirs'), spec });
    await as(async (client) => {
      const why = /writes no Service that belongs to none of them/;
      const mine = { ...test.key('mine'), ownerReferences: owners(LOCAL_SERVICES, 'x') };
      await refused(
        () => client.create(SERVICES, { metadata: test.key('new'), spec }, { dryRun: true }),
        why,
      );
      await refused(() => client.delete(SERVICES, test.key('theirs')), why);
      await client.create<KubeObject & { spec: object }>(
        SERVICES,
        { metadata: mine, spec },
        { dryRun: true },
      );
    });
  });
});

describe('the controller of Workspaces', () => {
  const { test, as } = useAccount(workspace);
  const confined = {
    ...container,
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
  };
  const secured = (more: object) => ({
    ...confined,
    securityContext: { ...confined.securityContext, ...more },
  });
  const harmless = {
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [confined],
    volumes: [{ name: 'w', persistentVolumeClaim: { claimName: 'mine' } }],
  };
  const mine = () => ({ ...test.key('mine'), ownerReferences: owners(WORKSPACES, 'mine') });
  const accounts = {
    group: '',
    version: 'v1',
    kind: 'ServiceAccount',
    plural: 'serviceaccounts',
    namespaced: true,
  };
  const make = (client: Client, spec: object, metadata: object = mine()) =>
    client.create<KubeObject & { spec: object }>(PODS, { metadata, spec }, { dryRun: true });

  it('creates only pods of Workspaces, without access to Secrets or the host', async () => {
    await test.client.create(accounts, { metadata: test.key('admin') });
    await as(async (client) => {
      const why = /makes and deletes no pods but theirs/;
      const secret = { name: 's', secret: { secretName: 'keys' } };
      await refused(() => make(client, harmless, test.key('mine')), why);
      const worse = [
        { automountServiceAccountToken: true },
        { serviceAccountName: 'admin' },
        { volumes: [secret] },
        { volumes: [{ name: 'h', hostPath: { path: '/' } }] },
        { volumes: [{ name: 'w', persistentVolumeClaim: { claimName: 'theirs' } }] },
        { hostNetwork: true },
        { hostIPC: true },
        { nodeName: 'a-control-plane' },
        { securityContext: { runAsUser: 1000 } },
        { securityContext: { runAsNonRoot: true, runAsUser: 0 } },
        { containers: [container] },
        { containers: [secured({ capabilities: { drop: ['ALL'], add: ['SYS_MODULE'] } })] },
        { containers: [secured({ runAsUser: 0, runAsNonRoot: false })] },
        { containers: [secured({ seccompProfile: { type: 'Unconfined' } })] },
        { containers: [{ ...confined, ports: [{ containerPort: 443, hostPort: 443 }] }] },
        { containers: [{ ...confined, readinessProbe: { tcpSocket: { host: '127.0.0.1', port: 2379 } } }] },
        { containers: [{ ...confined, livenessProbe: { httpGet: { port: 1 } } }] },
        { containers: [{ ...confined, envFrom: [{ secretRef: { name: 'keys' } }] }] },
        {
          containers: [
            { ...confined, env: [{ name: 'K', valueFrom: { secretKeyRef: { name: 'keys', key: 'k' } } }] },
          ],
        },
        { initContainers: [{ ...confined, name: 'i', envFrom: [{ secretRef: { name: 'keys' } }] }] },
      ];
      for (const spec of worse) await refused(() => make(client, { ...harmless, ...spec }), why);
      await make(client, harmless);
      const made = podOf({ metadata: { ...test.key('mine'), uid: 'u' }, spec: { image: 'x', port: 1 } });
      await client.create<KubeObject>(PODS, made, { dryRun: true });
    });
  });

  it('deletes no foreign pod, and creates no foreign volume', async () => {
    await test.client.create<KubeObject & { spec: object }>(PODS, {
      metadata: test.key('theirs'),
      spec: { containers: [container] },
    });
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
    await as(async (client) => {
      await refused(() => client.delete(PODS, test.key('theirs')), /makes and deletes no pods but theirs/);
      await refused(
        () => client.create(VOLUME_CLAIMS, { metadata: test.key('theirs'), spec }, { dryRun: true }),
        /makes no volumes but theirs/,
      );
    });
  });
});
