import { keyOf, ownerReferenceTo, textOf } from '#api/cluster-facts.ts';
import { SECRETS, type Secret, secretData, secretText } from '#api/core.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { ObjectKey } from '#api/meta.ts';
import { annotations, knownHostsSecretName, kubeconfigSecretName } from '#api/names.ts';
import { ownershipOf, purposeLabel } from '#api/own-secret.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Clock } from '#base/clock.ts';
import type { Client } from '#runtime/client/client.ts';
import { isAlreadyExists, isForbidden } from '#runtime/wire/api-error.ts';
import { hasExpired, kubeconfigIn, pointedAt } from '../decide/kubeconfig.ts';
import { Refusal, secretIsForeign } from '../decide/refusal.ts';
import type { Kubeconfig } from '../decide/snapshot.ts';
import { mergeKnownHosts } from './known-hosts.ts';

/** Reads and writes the kubeconfig Secrets, whose namespaces are not watched, and remembers them. */
export interface Kubeconfigs {
  /** Returns the kubeconfig in the cluster's own namespace; an expired one counts as missing. */
  of(client: Client, cluster: KubernetesCluster, now: Date): Promise<Kubeconfig>;
  /** Writes the kubeconfig and remembers it. */
  keep(client: Client, cluster: KubernetesCluster, kubeconfig: string): Promise<void>;
  /** Points the existing kubeconfig at the control plane with that address. */
  point(client: Client, cluster: KubernetesCluster, address: string): Promise<void>;
  forget(key: ObjectKey): void;
}

/** Time that an existing kubeconfig counts as present while the object is unchanged: shorter than the cache's resync. */
const KEPT_MS = 300_000;

export function createKubeconfigs(clock: Clock): Kubeconfigs {
  const seen = new Map<string, { touched: string; atMs: number; kubeconfig: Kubeconfig }>();
  const nameOf = (cluster: KubernetesCluster) => textOf(keyOf(cluster));
  const note = (cluster: KubernetesCluster, kubeconfig: Kubeconfig) => {
    if (kubeconfig.kind !== 'present') return void seen.delete(nameOf(cluster));
    seen.set(nameOf(cluster), { touched: touchOf(cluster), atMs: clock.monotonicMs(), kubeconfig });
  };
  async function keepText(client: Client, cluster: KubernetesCluster, text: string) {
    const { name = '' } = cluster.metadata;
    const texts = { value: text, kubeconfig: text };
    await keep(client, cluster, kubeconfigSecretName(name), () => texts);
    note(cluster, kubeconfigIn(text));
  }
  return {
    async of(client, cluster, now) {
      const known = seen.get(nameOf(cluster));
      if (
        known?.touched === touchOf(cluster) &&
        clock.monotonicMs() < known.atMs + KEPT_MS &&
        !hasExpired(known.kubeconfig, now)
      )
        return known.kubeconfig;
      const found = await read(client, cluster);
      const kubeconfig: Kubeconfig = hasExpired(found, now) ? { kind: 'missing' } : found;
      note(cluster, kubeconfig);
      return kubeconfig;
    },
    keep: keepText,
    async point(client, cluster, address) {
      const text = await readText(client, cluster);
      const pointed = text.kind === 'text' ? pointedAt(text.text, address) : undefined;
      if (pointed !== undefined) await keepText(client, cluster, pointed);
      else seen.delete(nameOf(cluster));
    },
    forget: (key) => void seen.delete(textOf(key)),
  };
}

/**
 * Returns the metadata that changes when a user edits the object. The controller's writes of status and results do not
 * count. A new operation annotation does not count either: accepting an operation forgets the kubeconfig anyway.
 */
function touchOf({ metadata: { generation, labels: marked, annotations: noted = {} } }: KubernetesCluster) {
  const {
    [annotations.operation]: _value,
    [annotations.appliedSpec]: _spec,
    [annotations.applied]: _applied,
    ...others
  } = noted;
  return canonicalJson([generation, marked, others]);
}

type Found = Exclude<Kubeconfig, { kind: 'present' }> | { kind: 'text'; text: string };

async function read(client: Client, cluster: KubernetesCluster): Promise<Kubeconfig> {
  const found = await readText(client, cluster);
  return found.kind === 'text' ? kubeconfigIn(found.text) : found;
}

async function readText(client: Client, cluster: KubernetesCluster): Promise<Found> {
  const { namespace = '', name = '' } = cluster.metadata;
  try {
    const key = { namespace, name: kubeconfigSecretName(name) };
    const secret = await client.find<Secret>(SECRETS, key);
    const ownership = secret && ownershipOf(secret, cluster.metadata, ACCESS);
    if (ownership === 'foreign') return { kind: 'foreign' };
    // A kubeconfig of a deleted object may open another cluster, so it is fetched anew and replaced.
    const text = ownership === 'ours' ? secretText(secret, 'value') : undefined;
    return text === undefined ? { kind: 'missing' } : { kind: 'text', text };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return { kind: 'hidden' };
  }
}

/** The label value of Secrets that the controller keeps for users. */
const ACCESS = 'access';

/**
 * Writes a Secret that the cluster owns. Throws Refusal `SecretConflict` if another owner has a Secret of that name; that
 * Secret stays unchanged.
 */
async function keep(
  client: Client,
  cluster: KubernetesCluster,
  name: string,
  texts: (present: Secret | undefined) => Record<string, string>,
): Promise<void> {
  const { namespace } = keyOf(cluster);
  const secret = (present?: Secret) =>
    ({
      metadata: {
        namespace,
        name,
        labels: purposeLabel(ACCESS),
        ownerReferences: [ownerReferenceTo(cluster)],
      },
      data: secretData(texts(present)),
    }) satisfies Secret;
  try {
    await client.create(SECRETS, secret());
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const found = await client.get<Secret>(SECRETS, { namespace, name });
    if (ownershipOf(found, cluster.metadata, ACCESS) === 'foreign')
      throw new Refusal('SecretConflict', secretIsForeign(name));
    const { metadata, data } = secret(found);
    const { resourceVersion } = found.metadata;
    const patch = { metadata: { ...metadata, resourceVersion }, data };
    await client.patch(SECRETS, { namespace, name }, patch, { type: 'merge' });
  }
}

/** Adds lines of known_hosts to the cluster's Secret; an existing line wins, because a user may have written it. */
export const keepKnownHosts = (client: Client, cluster: KubernetesCluster, lines: string): Promise<void> =>
  keep(client, cluster, knownHostsSecretName(cluster.metadata.name ?? ''), (present) => ({
    known_hosts: mergeKnownHosts(secretText(present, 'known_hosts') ?? '', lines),
  }));
