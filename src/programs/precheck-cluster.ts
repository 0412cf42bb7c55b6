import { readFile } from 'node:fs/promises';
import { SECRETS, type Secret, secretText } from '#api/core.ts';
import { DEFAULTS, KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations, credentialsSecretName, knownHostsSecretName } from '#api/names.ts';
import { sshLoginIn } from '#api/ssh-login.ts';
import { messageOf, UsageError } from '#base/errors.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { type PrecheckRequest, precheckHosts } from './precheck-hosts.ts';

export interface ClusterOptions {
  name: string;
  namespace: string;
  kubeconfig: string | undefined;
  knownHosts: string | undefined;
}

const MOST_MS = 30_000;

/** Reads an object with the caller's own rights; the error names the object. */
async function reported<T>(what: string, read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (error) {
    throw new UsageError(`${what} cannot be read: ${messageOf(error)}`);
  }
}

/** Reads the hosts of a KubernetesCluster and its SSH Secret. Throws UsageError if one of them is not available. */
export async function readCluster(options: ClusterOptions): Promise<PrecheckRequest> {
  const { name, namespace } = options;
  const endpoint = await loadEndpoint({ kubeconfig: options.kubeconfig });
  const client: Client = createClient(endpoint, { userAgent: 'matryoshka-precheck' });
  const signal = AbortSignal.timeout(MOST_MS);
  const what = `KubernetesCluster ${namespace}/${name}`;
  const cluster = await reported(
    what,
    client.find<KubernetesCluster>(KUBERNETES_CLUSTERS, { namespace, name }, { signal }),
  );
  if (!cluster) throw new UsageError(`${what} is not there; name one of "kubectl -n ${namespace} get ecsc"`);
  const { cluster: spec } = cluster.spec;
  const secretName = spec.credentialsSecret ?? credentialsSecretName(name);
  const find = (secret: string) =>
    reported(
      `Secret ${namespace}/${secret}`,
      client.find<Secret>(SECRETS, { namespace, name: secret }, { signal }),
    );
  const secret = await find(secretName);
  if (!secret)
    throw new UsageError(
      `Secret ${namespace}/${secretName}, which has the SSH key of the hosts, is not there`,
    );
  const given = sshLoginIn(secret);
  if ('reason' in given) throw new UsageError(`Secret ${namespace}/${secretName}: ${given.reason}`);
  if (given.privateKey === undefined && given.password === undefined)
    throw new UsageError(`Secret ${namespace}/${secretName} has neither ssh-privatekey nor password`);
  let knownHosts: string;
  if (options.knownHosts === undefined) {
    const pinned = await find(knownHostsSecretName(name));
    knownHosts = [secretText(secret, 'known_hosts') ?? '', secretText(pinned, 'known_hosts') ?? ''].join(
      '\n',
    );
  } else {
    knownHosts = await reported(`--known-hosts: ${options.knownHosts}`, readFile(options.knownHosts, 'utf8'));
  }
  const hosts = precheckHosts(
    spec,
    { ...given, knownHosts },
    cluster.metadata.annotations?.[annotations.clusterId] ?? '',
  );
  if (hosts.length === 0) throw new UsageError(`${what} has no hosts in its spec`);
  const networks = [spec.podCIDR ?? DEFAULTS.podCIDR, spec.serviceCIDR ?? DEFAULTS.serviceCIDR];
  const podNetwork = cluster.spec.addons?.network ?? DEFAULTS.network;
  return { hosts, networks, podNetwork, limits: undefined };
}
