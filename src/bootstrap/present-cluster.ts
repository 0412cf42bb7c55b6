import { UsageError } from '#base/errors.ts';
import { isLater, isNext, nextOf } from '#operations/version-order.ts';
import type { SshConnection } from '#ssh/connection.ts';

/** The meta cluster that an earlier run has made on the host. */
export interface PresentCluster {
  /** Its Kubernetes version; of an unfinished upgrade, the former one. */
  version: string;
  /** The version to which an unfinished upgrade goes, once a static pod has it. */
  unfinishedTo?: string;
  /** Whether a certificate has expired, or ends within 30 days. */
  endsSoon: boolean;
  /** Addresses of its control planes, as this host knows them. */
  masters: readonly string[];
}

const ASK_MS = 30_000;
const MONTH_SECONDS = 30 * 86_400;
const VERSION = 'v[0-9]+\\.[0-9]+\\.[0-9]+';
/** Script for the host. The owner file is the fence's, and each run of bootstrap writes it. */
const scriptFor = (clusterId: string): string => `owner=/etc/matryoshka/owner.json
id=$(sed -n 's/.*"clusterId":"\\([^"]*\\)".*/\\1/p' $owner 2> /dev/null)
if [ "$id" != '${clusterId}' ]; then
  [ -z "$id" ] || grep -q '"released":true' $owner || echo "owned $id"
  exit 0
fi
# A host whose join was interrupted joins first.
[ -s /etc/matryoshka/joined ] && cd /etc/kubernetes 2> /dev/null || exit 0
awk '/# matryoshka ${clusterId}/ { print "master " $1 }' /etc/hosts
[ ! -e admin.conf ] || echo made
sed -n 's/^ *image: .*kube-apiserver:\\(v[0-9.]*\\)$/version \\1/p' manifests/kube-apiserver.yaml
for folder in /var/lib/matryoshka/upgrade/v*/files; do
  [ ! -d "$folder" ] || echo "former $(basename "$(dirname "$folder")")"
done
command -v openssl > /dev/null || exit 0
for file in pki/*.crt pki/etcd/*.crt; do
  openssl x509 -noout -checkend ${MONTH_SECONDS} -in "$file" > /dev/null || echo "ends $file"
done`;

/** Parses the answer of the host; undefined if no meta cluster was made there. Throws if its version is unknown. */
export function presentIn(answer: string): PresentCluster | undefined {
  const owner = /^owned (\S+)$/m.exec(answer)?.[1];
  if (owner !== undefined)
    throw new UsageError(
      `the host belongs to cluster ${owner}; name another host. The meta cluster begins on the first host of --host: name them in the same order as before`,
    );
  const read = (name: string) => new RegExp(`^${name} (${VERSION})$`, 'm').exec(answer)?.[1];
  const [serving, former] = [read('version'), read('former')];
  if (serving === undefined && former === undefined) {
    if (!/^made$/m.test(answer)) return undefined;
    throw new Error(
      'the host has a meta cluster whose version is unknown: /etc/kubernetes/manifests/kube-apiserver.yaml is missing; restore it from /etc/kubernetes/tmp',
    );
  }
  return {
    version: former ?? serving ?? '',
    ...(former !== undefined && serving !== undefined && serving !== former ? { unfinishedTo: serving } : {}),
    endsSoon: /^ends /m.test(answer),
    masters: [...answer.matchAll(/^master (\S+)$/gm)].map(([, address = '']) => address),
  };
}

/** The meta cluster that an earlier run has made on some of the hosts. */
export interface PresentHosts extends PresentCluster {
  /** The hosts that it has, by their place. */
  hosts: readonly number[];
}

/**
 * Merges what the hosts have, in the order of their addresses; undefined if none has a meta cluster. Throws if the first one
 * has lost it, or if it has hosts that the addresses lack: these would stay behind an upgrade or a renewal.
 */
export function presentOn(
  hosts: readonly (PresentCluster | undefined)[],
  addresses: readonly string[],
): PresentHosts | undefined {
  const found = hosts.flatMap((one, index) => (one ? [{ ...one, index }] : []));
  const [first] = found;
  if (!first) return undefined;
  if (first.index > 0)
    throw new UsageError(
      `--host: the first host has lost the meta cluster, which ${addresses[first.index]} has; restore a backup into a new one (docs/tasks/backup-meta-cluster.md)`,
    );
  const missing = first.masters.filter((address) => !addresses.includes(address));
  if (missing.length > 0)
    throw new UsageError(`--host: the meta cluster also has ${missing.join(', ')}; name all of its hosts`);
  // An upgrade that was interrupted has left hosts of two versions.
  const versions = found.map(({ version }) => version);
  const lowest = versions.reduce((one, other) => (isLater(other, one) ? other : one));
  const highest = versions.reduce((one, other) => (isLater(one, other) ? other : one));
  const unfinishedTo =
    found.find((one) => one.unfinishedTo !== undefined)?.unfinishedTo ??
    (highest === lowest ? undefined : highest);
  return {
    version: lowest,
    ...(unfinishedTo === undefined ? {} : { unfinishedTo }),
    endsSoon: found.some((one) => one.endsSoon),
    masters: first.masters,
    hosts: found.map(({ index }) => index),
  };
}

/** Finds out whether the host has a meta cluster of an earlier run; undefined if it has none. */
export async function presentCluster(
  connection: SshConnection,
  clusterId: string,
): Promise<PresentCluster | undefined> {
  const { stdout } = await connection.run('/bin/sh -s', { input: scriptFor(clusterId), timeoutMs: ASK_MS });
  return presentIn(stdout);
}

/**
 * Returns the version for the meta cluster: that of an unfinished upgrade, the wanted one, or the newest to which the present
 * one can go. Throws if it cannot go there in one step.
 */
export function versionFor(
  present: Pick<PresentCluster, 'version' | 'unfinishedTo'> | undefined,
  wanted: string | undefined,
  covered: readonly [string, ...string[]],
): string {
  if (wanted !== undefined && !covered.includes(wanted))
    throw new UsageError(
      `--kube-version: the artifacts have no files of ${wanted}; they have ${covered.join(', ')}`,
    );
  if (present === undefined) return wanted ?? covered[0];
  const { version: from, unfinishedTo } = present;
  if (unfinishedTo !== undefined && wanted !== undefined && wanted !== unfinishedTo)
    throw new UsageError(
      `--kube-version: an upgrade of the meta cluster to ${unfinishedTo} is unfinished; finish it first, with that version`,
    );
  const next = nextOf(from, covered);
  const version = unfinishedTo ?? wanted ?? next[0] ?? from;
  const choice = next.length > 0 ? `choose ${next.join(' or ')}` : `leave it at ${from}`;
  if (isLater(version, from))
    throw new UsageError(
      `--kube-version: the meta cluster has ${from}, and Kubernetes supports no downgrade to ${version}; ${choice}`,
    );
  if (!isNext(from, version))
    throw new UsageError(
      `--kube-version: ${version} skips a minor version after ${from}, which the meta cluster has; ${choice}`,
    );
  return version;
}
