import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, get } from 'node:http';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CONFIG_MAPS, type ConfigMap, SECRETS, secretData } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { sha256 } from '#base/canonical.ts';
import { network } from '#lab/hosts/places.ts';
import { clientOf, kubeconfigOf, readyNodesOf, untilDone } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byKubectl } from './by-kubectl.ts';
import { byNumber } from './by-number.ts';
import { deleteCluster } from './deletion.ts';
import { openLane } from './lanes.ts';
import { tracesOn } from './traces.ts';

const NAME = 'settings';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 10 * 60_000;
const SHARED = '/etc/kubernetes/pki/matryoshka';
const KEYS = `${NAME}-keys`;
const KEY = { namespace: 'default', name: NAME };
/** An object before its namespace and its CRD, and text that a template would change. */
const ADDONS = `
apiVersion: example.com/v1
kind: Widget
metadata: {name: one, namespace: own}
spec: {size: 3}
---
apiVersion: v1
kind: Namespace
metadata: {name: own}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
`;
const OWN = `{apiVersion: v1, kind: ConfigMap, metadata: {name: text, namespace: own}, data: {text: '{{ x }} $HOME'}}\n`;
const manifests = [
  { configMap: `${NAME}-addons`, key: 'addons.yaml', sha256: sha256(ADDONS) },
  { configMap: `${NAME}-addons`, key: 'own.yaml', sha256: sha256(OWN) },
];

/** A private registry: our images, behind a password. */
const PRIVATE = 'private.example.com';
const REGISTRY_PORT = 5443;
const LOGIN = Buffer.from(`puller:${randomUUID()}`).toString('base64');
const refused: string[] = [];
const registry = createServer((request, response) => {
  if (request.headers.authorization !== `Basic ${LOGIN}`) {
    refused.push(`${request.headers.authorization}`);
    response.writeHead(401, { 'www-authenticate': 'Basic realm="private"' }).end();
    return;
  }
  const url = new URL(request.url ?? '/', meta.artifactsUrl);
  url.searchParams.set('ns', 'registry.k8s.io');
  const upstream = get(
    url,
    { method: request.method, headers: { accept: request.headers.accept } },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    },
  );
  upstream.on('error', () => response.destroy());
  upstream.end();
});

/** Every field of spec.cluster.kubeadm at once. */
const kubeadm = {
  certSANs: ['api.example.com', '192.0.2.99'],
  kubelet: { maxPods: 77, containerLogMaxFiles: 3 },
  audit: {
    policy: { rules: [{ level: 'Metadata', resources: [{ resources: ['secrets'] }] }] },
    maxBackups: 2,
  },
  // No proxy answers there; the creation must get everything without one.
  proxy: {
    httpProxy: 'http://192.0.2.1:3128',
    httpsProxy: 'http://192.0.2.1:3128',
    noProxy: [network.gateway, '.example.com'],
  },
  registryMirrors: [
    { registry: 'registry.k8s.io', endpoints: ['https://mirror.example.com'] },
    { registry: PRIVATE, endpoints: [`http://${network.gateway}:${REGISTRY_PORT}`] },
  ],
  patches: [
    {
      target: 'kube-apiserver',
      json: [{ op: 'add', path: '/spec/containers/0/command/-', value: '--profiling=false' }],
    },
    { target: 'etcd', strategic: { metadata: { annotations: { 'example.com/patched': 'yes' } } } },
  ],
  encryptionAlgorithm: 'ECDSA-P256',
  encryptionAtRest: true,
};

let meta: Meta;
let traces: (index: number) => Promise<string[]>;

beforeAll(async () => {
  meta = await openLane();
  traces = await tracesOn(meta);
  registry.listen(REGISTRY_PORT, network.gateway);
  await once(registry, 'listening');
});
afterAll(async () => {
  registry.closeAllConnections();
  registry.close();
  await meta.close();
});

const { host, entries, nodes, sh } = byNumber(() => meta);
const kubectl = (command: string) =>
  sh(0, `kubectl --kubeconfig=/etc/kubernetes/admin.conf --cache-dir=/dev/shm/kube ${command}`);

/** Returns the command line of the API server on the host. */
const flagsAt = async (index: number) =>
  (
    await sh(
      index,
      'for p in /proc/[0-9]*; do [ "$(cat $p/comm 2>/dev/null)" != kube-apiserver ] || tr "\\0" "\\n" < $p/cmdline; done',
    )
  ).split('\n');

/** Returns the names in an API server's certificate. */
const namesAt = (index: number) =>
  new Promise<string>((resolve, reject) => {
    const host = meta.hosts[index]?.ip ?? '';
    const socket = connect({ host, port: 6443, rejectUnauthorized: false, timeout: 10_000 }, () => {
      resolve(socket.getPeerCertificate().subjectaltname ?? '');
      socket.destroy();
    });
    socket.once('error', reject);
    socket.once('timeout', () => socket.destroy(new Error(`${host} does not answer`)));
  });

async function makeSecret(name: string, text: string): Promise<void> {
  const client = await clientOf(await kubeconfigOf(meta, NAME));
  await client.create(SECRETS, { metadata: { namespace: 'default', name }, data: secretData({ text }) });
  await client.close();
}

/** Makes the request through the object, because REST has no field for manifests. */
async function done(word: string, cluster: object, addons?: object): Promise<void> {
  const wanted = {
    metadata: { ...KEY, annotations: { [annotations.operation]: word } },
    spec: { cluster: { region: 'lab', credentialsSecret: KEYS, ...cluster }, ...(addons ? { addons } : {}) },
  };
  if (await meta.client.find(KUBERNETES_CLUSTERS, KEY))
    await meta.client.patch<KubernetesCluster>(KUBERNETES_CLUSTERS, KEY, wanted, { type: 'merge' });
  else await meta.client.create(KUBERNETES_CLUSTERS, wanted);
  await untilDone(meta, NAME, OPERATION_MS);
}

describe('a cluster with settings of the user', () => {
  it('is created', async () => {
    await byKubectl(meta, NAME).giveKeys(KEYS, {
      '.dockerconfigjson': JSON.stringify({ auths: { [PRIVATE]: { auth: LOGIN } } }),
    });
    const metadata = { namespace: 'default', name: `${NAME}-addons` };
    const files: ConfigMap = { metadata, data: { 'addons.yaml': ADDONS, 'own.yaml': OWN } };
    await meta.client.apply(CONFIG_MAPS, files, { fieldManager: 'e2e', force: true });
    await done('creating', { masterList: entries(0), nodeList: entries(1), kubeadm }, { manifests });
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1));
  });

  it('has the extra names in the certificate of its API server', async () => {
    const names = await namesAt(0);
    for (const name of ['DNS:api.example.com', 'IP Address:192.0.2.99']) expect(names).toContain(name);
  });

  it.each([0, 1])('applies the kubelet settings on host %i, over those of the site', async (index) => {
    const [node = ''] = nodes(index);
    const { kubeletconfig } = JSON.parse(await kubectl(`get --raw /api/v1/nodes/${node}/proxy/configz`));
    expect(kubeletconfig).toMatchObject({ ...kubeadm.kubelet, cgroupDriver: 'systemd', failCgroupV1: false });
  });

  it.each([0, 1])('lists our mirror before the mirror of the user on host %i', async (index) => {
    const asked = await sh(index, 'grep "^.host" /etc/containerd/certs.d/registry.k8s.io/hosts.toml');
    expect(asked.trim().split('\n')).toEqual([
      expect.stringContaining('http://'),
      '[host."https://mirror.example.com"]',
    ]);
  });

  it.each([0, 1])('pulls from our mirror without the proxy on host %i', async (index) => {
    const environment = await sh(
      index,
      'tr "\\0" "\\n" < /proc/$(systemctl show -P MainPID containerd)/environ',
    );
    expect(environment).toContain('HTTPS_PROXY=http://192.0.2.1:3128\n');
    expect(environment).toMatch(new RegExp(`NO_PROXY=.*,${meta.hosts[1]?.ip},(.*,)?\\.example\\.com(\\n|$)`));
    const image = (await sh(index, 'ctr -n k8s.io images ls -q | grep /pause: | head -1')).trim();
    await sh(
      index,
      `ctr -n k8s.io images rm ${image} && ctr -n k8s.io images pull --hosts-dir /etc/containerd/certs.d ${image}`,
    );
  });

  it('pulls from a private registry for a pod without credentials, and logs no credentials', async () => {
    const image = (await sh(1, 'ctr -n k8s.io images ls -q | grep /pause: | head -1')).trim();
    const tag = image.replace(/^[^/]*\//, `${PRIVATE}/`);
    await kubectl(`run private --image=${tag} --image-pull-policy=Always --restart=Never`);
    await kubectl('wait pod/private --for=condition=Ready --timeout=120s');
    expect(refused.length).toBeGreaterThan(0);
    const files = '/etc/matryoshka/registry-login.json /var/lib/kubelet/config.json';
    for (const index of [0, 1])
      expect((await sh(index, `stat -c '%a %u' ${files}`)).trim().split('\n')).toEqual(['600 0', '600 0']);
    const { body } = await meta.rest.raw('GET', `${PATH}/logs`);
    expect(JSON.stringify(body)).not.toContain(LOGIN.slice(0, 30));
    expect(await sh(1, `grep -rlF ${LOGIN} /var/lib/matryoshka 2>/dev/null || true`)).toBe('');
    await kubectl('delete pod private --wait=false');
  });

  it('encrypts Secrets in etcd with a key that only root can read', async () => {
    const text = `precious-${randomUUID()}`;
    await makeSecret('first', text);
    const holds = (what: string) =>
      sh(0, `grep -aqF '${what}' /var/lib/etcd/member/wal/*.wal && echo yes || echo no`);
    expect((await holds('k8s:enc:secretbox:v1:key1:')).trim()).toBe('yes');
    expect((await holds(text)).trim()).toBe('no');
    expect(await flagsAt(0)).toContain(`--encryption-provider-config=${SHARED}/encryption.yaml`);
    expect((await sh(0, `stat -c %a ${SHARED} ${SHARED}/encryption.yaml`)).split('\n')).toContain('600');
    expect((await sh(1, `ls -d ${SHARED} 2>&1 || true`)).trim()).toContain('No such file');
    const key = (await sh(0, `sed -n 's/.*secret: //p' ${SHARED}/encryption.yaml`)).trim();
    expect(key).toHaveLength(44);
    const { body } = await meta.rest.raw('GET', `${PATH}/logs`);
    expect(JSON.stringify(body)).not.toContain(key);
  });

  it('writes an audit log by the policy', async () => {
    const log = '/var/log/kubernetes/audit/audit.log';
    expect(await flagsAt(0)).toEqual(
      expect.arrayContaining([`--audit-log-path=${log}`, '--audit-log-maxbackup=2']),
    );
    const [line = ''] = (await sh(0, `grep '"name":"first"' ${log}`)).split('\n');
    expect(JSON.parse(line)).toMatchObject({ kind: 'Event', level: 'Metadata' });
  });

  it('patches files that kubeadm writes', async () => {
    expect(await flagsAt(0)).toContain('--profiling=false');
    expect(await sh(0, 'cat /etc/kubernetes/manifests/etcd.yaml')).toContain('example.com/patched: "yes"');
  });

  it("has the objects of the user's own manifests", async () => {
    expect(await kubectl('-n own get widget one -o jsonpath={.spec.size}')).toBe('3');
    expect(await kubectl('-n own get configmap text -o jsonpath={.data.text}')).toBe('{{ x }} $HOME');
  });

  it.each([
    ['spec.cluster.kubeadm', { cluster: { kubeadm: { encryptionAtRest: false } } }],
    ['spec.addons.manifests', { addons: { manifests: manifests.slice(1) } }],
  ])('rejects a change of %s', async (field, spec) => {
    const edit = meta.client.patch(KUBERNETES_CLUSTERS, KEY, { spec }, { type: 'merge' });
    await expect(edit).rejects.toThrow(`${field} cannot be changed yet`);
  });

  it('applies the same settings to control planes that join later', async () => {
    await done('scaling-up', { masterList: entries(0, 2, 3) });
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, 2, 3));
    const sum = (index: number) => sh(index, `cd ${SHARED} && find . -type f | sort | xargs sha256sum`);
    for (const index of [2, 3]) {
      expect(await sum(index)).toBe(await sum(0));
      expect(await flagsAt(index)).toContain(`--encryption-provider-config=${SHARED}/encryption.yaml`);
      expect(await flagsAt(index)).toContain('--profiling=false');
      expect(await sh(index, 'cat /etc/kubernetes/manifests/etcd.yaml')).toContain('example.com/patched');
      expect(await namesAt(index)).toContain('DNS:api.example.com');
      expect(
        await sh(index, 'find /etc/kubernetes/pki -name "*.key" | xargs grep -L "BEGIN EC PRIVATE KEY"'),
      ).toBe('');
      await sh(index, 'test -s /var/log/kubernetes/audit/audit.log');
    }
    // Every API server can read what another one has written.
    const { items } = JSON.parse(
      await kubectl(`--server=https://${meta.hosts[3]?.ip}:6443 get secrets -A -o json`),
    );
    expect(items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toContain('first');
  });

  it('is deleted, and leaves no trace on its hosts', async () => {
    await deleteCluster(meta, NAME);
    for (const index of [0, 1, 2, 3]) expect(await traces(index), host(index).name).toEqual([]);
    await meta.client.delete(CONFIG_MAPS, { namespace: 'default', name: `${NAME}-addons` });
    expect((await sh(0, 'ls /var/log/kubernetes 2>&1 || true')).trim()).toContain('No such file');
  });
});
