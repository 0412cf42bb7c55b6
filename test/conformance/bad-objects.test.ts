import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { pathText } from '#api/cluster-facts.ts';
import { CONFIG_MAPS, type ConfigMap } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster, type Spec } from '#api/kubernetes-cluster.ts';
import type { KubeObject } from '#api/meta.ts';
import { annotations } from '#api/names.ts';
import { sha256 } from '#base/canonical.ts';
import { CUSTOM_RESOURCE_DEFINITIONS } from '#lab/apiserver/kinds.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { isApiError } from '#runtime/wire/api-error.ts';
import { type ApiServer, startApiServer } from '../../lab/apiserver/start.ts';
import { crdFiles } from '../../src/crds.ts';
import { type Ground, groundOn } from '../worlds/ground.ts';
import { KUBECONFIG, startOperator, type TestOperator } from '../worlds/operator.ts';
import { type Property, propertiesOf, schemaSchema, variantsOf, withValue } from './variants.ts';

/**
 * Sets every property of the CRD to valid and to invalid values. The API server refuses what it can. Values that an older or
 * edited CRD accepts must not disturb the controller.
 */
const crd: KubeObject = parse(crdFiles['kubernetesclusters.ecs.yun.com.yaml'] ?? '');
const { spec: crdSpec } = z
  .object({
    spec: z.looseObject({
      versions: z.tuple([
        z.looseObject({
          schema: z.object({
            openAPIV3Schema: z.looseObject({
              properties: z.looseObject({ spec: schemaSchema }),
            }),
          }),
        }),
      ]),
    }),
  })
  .parse(crd);
const [version] = crdSpec.versions;
const { openAPIV3Schema } = version.schema;
const properties = propertiesOf(openAPIV3Schema.properties.spec);
/** Returns the CRD with a spec of any shape. */
const openCrd = () => {
  const anything = { 'x-kubernetes-preserve-unknown-fields': true };
  const schema = {
    ...openAPIV3Schema,
    required: [],
    properties: { ...openAPIV3Schema.properties, spec: anything },
  };
  const versions = [{ ...version, schema: { openAPIV3Schema: schema } }];
  return { ...crd, spec: { ...crdSpec, versions } };
};

/** A manifest file that is empty: the Job, not the controller, checks its content. */
const FILE = { configMap: 'addons', key: 'a.yaml', sha256: sha256('') };

/** Returns a spec with every field set. */
const full = (net: number): Spec => {
  const host = (last: number) => ({
    ip: `10.60.${net}.${last}`,
    name: `host-${last}`,
    port: 22,
    user: 'root',
    labels: { k: 'v' },
    taints: [{ key: 'k', value: 'v', effect: 'NoSchedule' as const }],
    reclaim: 'x',
  });
  return {
    paused: false,
    cluster: {
      timeout_mins: '60',
      clusterType: 'kubernetes',
      deployMode: 'container',
      podCIDR: '192.168.0.0/16',
      serviceCIDR: '172.16.0.0/16',
      masterList: [{ ...host(1), role: 'control-plane' }],
      nodeList: [{ ...host(2), role: 'worker' }],
      etcdList: [{ ...host(1), role: 'control-plane' }],
      externalLoadBalancer: `10.60.${net}.9`,
      region: 'north',
      kubeVersion: 'v1.34.4',
      imagesRegistry: 'registry.example.com/k8s',
      kubeadm: {
        certSANs: ['api.example.com'],
        kubelet: { maxPods: 77 },
        audit: { policy: { omitStages: [], rules: [RULE] }, maxAgeDays: 7 },
        proxy: { httpProxy: 'http://proxy.example.com:3128', noProxy: ['.example.com'] },
        registryMirrors: [{ registry: 'docker.io', endpoints: ['https://mirror.example.com'] }],
        patches: [{ target: 'etcd', json: [{ op: 'copy', path: '/a', from: '/b' }] }],
        encryptionAlgorithm: 'ECDSA-P256',
        encryptionAtRest: true,
      },
      authConfig: { username: 'root' },
      credentialsSecret: 'keys',
    },
    addons: { network: 'flannel', manifests: [FILE] },
    policy: { replaceFrom: [host(3)], replaceAfterMinutes: 10, replaceAtMostEveryHours: 24 },
  };
};

/** A rule with all of its lists, so that each list can get an invalid value. */
const RULE = {
  level: 'Metadata' as const,
  users: [],
  userGroups: [],
  verbs: [],
  resources: [{ group: 'apps', resources: [], resourceNames: [] }],
  namespaces: [],
  nonResourceURLs: [],
  omitStages: [],
};

let server: ApiServer;
let operator: TestOperator;
let strict: Ground;

beforeAll(async () => {
  // A separate API server, because no other test wants a CRD without a schema.
  server = await startApiServer({ controllerManager: true });
  const client = createClient(await loadEndpoint({ kubeconfig: server.kubeconfigPath }), {
    userAgent: 'test',
  });
  await client.create(CUSTOM_RESOURCE_DEFINITIONS, openCrd());
  await client.close();
  operator = await startOperator(server.kubeconfigPath, () => ({
    kind: 'report',
    success: true,
    kubeconfig: KUBECONFIG,
  }));
  const { namespace } = operator;
  const addons: ConfigMap = { metadata: { namespace, name: FILE.configMap }, data: { [FILE.key]: '' } };
  await operator.client.create(CONFIG_MAPS, addons);
  await create('demo', full(0));
  await operator.until('demo', (cluster) => word(cluster) === 'create-finished');
  strict = await groundOn(inject('kubeconfigPath'));
});
afterAll(async () => {
  await operator.stop();
  await server.stop();
  await strict.leave();
});

const word = (cluster: KubernetesCluster | undefined) =>
  cluster?.metadata.annotations?.[annotations.operation];
const conditions = (cluster: KubernetesCluster | undefined) =>
  Object.fromEntries((cluster?.status?.conditions ?? []).map((one) => [one.type, one.reason]));
const stalled = (cluster: KubernetesCluster | undefined) =>
  cluster?.status?.conditions?.find(({ type }) => type === 'Stalled');

/** Expected condition reasons of a cluster with one control plane and a remediation policy. */
const MADE = { Ready: 'Created', UpToDate: 'Applied', RemediationReady: 'OneControlPlane' };

const objectOf = (name: string, spec: unknown) => ({
  metadata: { namespace: operator.namespace, name, annotations: { [annotations.operation]: 'creating' } },
  spec,
});
const create = (name: string, spec: unknown) =>
  operator.client.create(KUBERNETES_CLUSTERS, objectOf(name, spec));

/** Writes a spec and returns the cluster after the controller has observed it. */
async function judged(name: string, spec: unknown): Promise<KubernetesCluster | undefined> {
  const key = { namespace: operator.namespace, name };
  // An undefined spec is removed from the object.
  const change =
    spec === undefined ? { op: 'remove', path: '/spec' } : { op: 'add', path: '/spec', value: spec };
  const { metadata } = await operator.client.patch(KUBERNETES_CLUSTERS, key, [change], { type: 'json' });
  const generation = metadata.generation ?? 0;
  return operator.until(name, (cluster) => (cluster?.status?.observedGeneration ?? 0) >= generation);
}

const fieldOf = ({ path }: Property) =>
  pathText(
    'spec',
    path.map((part) => (/^\d+$/.test(part) ? Number(part) : part)),
  );

describe.each(properties.map((property) => [fieldOf(property), property] as const))(
  '%s',
  (field, property) => {
    it('is rejected by the API server if it is invalid', async () => {
      for (const { what, value } of variantsOf(property)) {
        if (what !== 'invalid') continue;
        const said = await answerOf(strict.client, withValue(full(1), property.path, value));
        expect(said, JSON.stringify(value)).not.toBe('taken');
      }
    });

    it('is reported in one condition if it is invalid, until it is corrected', async () => {
      for (const { what, value } of variantsOf(property)) {
        const cluster = await judged('demo', withValue(full(0), property.path, value));
        const given = `${what}: ${JSON.stringify(value)?.slice(0, 80)}`;
        expect(conditions(cluster), given).toMatchObject({ Ready: 'Created' });
        if (what !== 'invalid') continue;
        expect(conditions(cluster), given).not.toHaveProperty('Reconciling');
        expect(stalled(cluster), given).toMatchObject({ reason: 'InvalidSpec' });
        expect(stalled(cluster)?.message, given).toContain(field);
      }
      // Allowed labels and taints are set and reset, so the cluster matches the spec at the end.
      await judged('demo', full(0));
      const healed = await operator.until('demo', (one) => conditions(one)['UpToDate'] === 'Applied');
      expect(conditions(healed)).toEqual(MADE);
      expect(healed?.status?.phase).toBe('Running');
    });
  },
);

it('a cluster with an invalid spec is created once the spec is corrected', async () => {
  // The hosts of one list are enough: hosts of all lists have the same schema.
  const some = properties.filter(({ path: [, list = ''], path }) => list === 'nodeList' || path.length < 3);
  const wrong = some.flatMap((property) => {
    const [first] = variantsOf(property).filter(({ what }) => what === 'invalid');
    return first ? [{ property, value: first.value }] : [];
  });
  const make = async ({ property, value }: (typeof wrong)[number], net: number) => {
    const name = `bad-${net}`;
    await create(name, withValue(full(net), property.path, value));
    const bad = await operator.until(name, (cluster) => stalled(cluster) !== undefined);
    expect(stalled(bad)?.message).toContain(fieldOf(property));
    await operator.client.patch(
      KUBERNETES_CLUSTERS,
      { namespace: operator.namespace, name },
      [{ op: 'add', path: '/spec', value: full(net) }],
      { type: 'json' },
    );
    const made = await operator.until(
      name,
      (one) => word(one) === 'create-finished' && 'RemediationReady' in conditions(one),
    );
    expect(conditions(made)).toEqual(MADE);
  };
  const queue = wrong.entries();
  const work = async () => {
    for (const [index, one] of queue) await make(one, index + 1);
  };
  await Promise.all(Array.from({ length: 8 }, work));
}, 180_000);

/** Returns `taken`, or the reason of the refusal. */
async function answerOf(client: Client, spec: unknown): Promise<string> {
  try {
    await client.create(
      KUBERNETES_CLUSTERS,
      { metadata: { namespace: 'default', name: 'dry' }, ...Object(spec === undefined ? {} : { spec }) },
      { dryRun: true },
    );
    return 'taken';
  } catch (error) {
    if (isApiError(error, 'Invalid', 'BadRequest')) return error.message;
    throw error;
  }
}
