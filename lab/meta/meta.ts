import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { KubeObject, Resource } from '#api/meta.ts';
import { type BootstrapOptions, type Bootstrapped, bootstrap } from '#bootstrap/bootstrap.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { SERVICE_ACCOUNTS } from '../apiserver/kinds.ts';
import { fillArtifacts } from '../artifacts/fill.ts';
import { artifactsDir } from '../artifacts/places.ts';
import type { Say } from '../artifacts/progress.ts';
import { ensureDocker } from '../hosts/daemon.ts';
import { keyPath, type LabHost, labDir, network } from '../hosts/places.ts';
import { labUp } from '../hosts/up.ts';
import { operatorImages } from '../operator-images.ts';
import { type Rest, restClient } from './rest.ts';

/** Place of a meta cluster with the operator on the lab's first host, and hosts for clusters. It can be stored. */
export interface MetaPlace {
  /** Hosts without a cluster. */
  hosts: LabHost[];
  host: LabHost;
  restUrl: string;
  artifactsUrl: string;
  kubeconfigPath: string;
  /** Private key for SSH to the hosts, in the format of a REST body. */
  privateKey: string;
  token: string;
  ca: string;
}

export interface Meta extends MetaPlace {
  client: Client;
  rest: Rest;
  close(): Promise<void>;
}

const kubeconfigPath = join(labDir, 'meta.kubeconfig');
const caPath = join(labDir, 'meta-ca.crt');
/** Name of the meta host's node. */
export const META_NODE = 'meta';
/** Networks that differ from those of its clusters. They have both families, because its operator uses both. */
export const META_NETWORKS = {
  podCidr: '10.245.0.0/16,fd00:10:245::/56',
  serviceCidr: '10.97.0.0/16,fd00:10:97::/112',
} as const;
const TOKEN_SECONDS = 12 * 3600;

/** Writes the variables that only hosts of this lab need. Their name server is the first lab's gateway. */
async function siteVariables(): Promise<string> {
  const text = await readFile(join(import.meta.dirname, '../inventory-vars.yaml'), 'utf8');
  const path = join(labDir, 'inventory-vars.yaml');
  await writeFile(path, text.replace('10.88.0.1', network.gateway));
  return path;
}

/** Returns the options of bootstrap for hosts of the lab. */
export async function bootstrapOptions(
  hosts: readonly LabHost[],
  images: Readonly<Record<'operator' | 'runner', string>>,
): Promise<BootstrapOptions> {
  return {
    host: hosts.map(({ ip }) => ip),
    port: 22,
    user: 'root',
    nodeName: META_NODE,
    sshKey: keyPath,
    artifacts: artifactsDir,
    inventoryVars: await siteVariables(),
    ...META_NETWORKS,
    servedNamespaces: ['default'],
    addons: [],
    operatorImage: images.operator,
    runnerImage: images.runner,
    kubeconfigOut: kubeconfigPath,
    caOut: caPath,
  };
}

/** Builds, starts and installs what is missing. A second run changes nothing. */
export async function metaUp(hosts: number, say: Say): Promise<Meta> {
  await ensureDocker(say);
  // Compilers need processors; image builds mostly need disk and network.
  const [[host, ...others], images] = await Promise.all([
    labUp(hosts, say),
    operatorImages(say),
    fillArtifacts(artifactsDir, say),
  ]);
  if (!host) throw new Error('the lab has no host');
  const options = await bootstrapOptions([host], images);
  return openInstalled(options, await bootstrap(options, say), host, others);
}

/** Connects to an installation as a user who may create clusters. */
export async function openInstalled(
  { kubeconfigOut, caOut }: Pick<BootstrapOptions, 'kubeconfigOut' | 'caOut'>,
  urls: Bootstrapped,
  host: LabHost,
  hosts: LabHost[],
): Promise<Meta> {
  const client = await clientAt(kubeconfigOut);
  const token = await personToken(client, 'lab-user');
  await client.close();
  return openMeta({
    hosts,
    host,
    ...urls,
    kubeconfigPath: kubeconfigOut,
    privateKey: await readFile(keyPath, 'utf8'),
    token,
    ca: await readFile(caOut, 'utf8'),
  });
}

const clientAt = async (path: string): Promise<Client> =>
  createClient(await loadEndpoint({ kubeconfig: path }), { userAgent: 'matryoshka-lab' });

/** Connects to a running meta cluster. */
export async function openMeta(place: MetaPlace): Promise<Meta> {
  const client = await clientAt(place.kubeconfigPath);
  const rest = restClient(place.restUrl, place.ca, place.token);
  const close = async () => {
    await rest.close();
    await client.close();
  };
  return { ...place, client, rest, close };
}

const ROLE_BINDINGS: Resource = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'RoleBinding',
  plural: 'rolebindings',
  namespaced: true,
};
const tokenSchema = z.object({ status: z.object({ token: z.string() }) });

/** Returns the token of an account that may create clusters in `default`, like a user's. */
async function personToken(client: Client, name: string): Promise<string> {
  const namespace = 'default';
  const account: KubeObject = { metadata: { namespace, name } };
  const binding: KubeObject & Record<string, unknown> = {
    metadata: { namespace, name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'matryoshka-user' },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  };
  for (const [resource, object] of [
    [SERVICE_ACCOUNTS, account] as const,
    [ROLE_BINDINGS, binding] as const,
  ]) {
    await client.apply(resource, object, { fieldManager: 'matryoshka-lab', force: true });
  }
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const asked = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: TOKEN_SECONDS },
  };
  return tokenSchema.parse(await client.request('POST', path, asked)).status.token;
}
