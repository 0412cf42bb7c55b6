import { CONFIG_MAPS, JOBS, PODS, SECRETS } from '#api/core.ts';
import { HOSTS, type HostRecord, hostRecordName } from '#api/host-record.ts';
import type { ClusterStatus, KubernetesCluster, OperationStatus } from '#api/kubernetes-cluster.ts';
import { annotations, labels } from '#api/names.ts';
import type { Client } from '#runtime/client/client.ts';
import { isAway } from './away.ts';
import type { Hosts } from './hosts.ts';
import type { Kubelet } from './kubelet.ts';

interface World {
  client: Client;
  hosts: Hosts;
  namespace: string;
  operatorNamespace: string;
  /** The cluster; undefined if it is deleted. */
  cluster: KubernetesCluster | undefined;
}

const isTombstone = (one: string): boolean => one.startsWith('tombstone ');

/**
 * O5: at rest, the API and the hosts have exactly what the cluster needs. `mayBeGone`: a host that does not answer is
 * released when the operation fails, unless an attempt was lost.
 */
export async function judgeLeftovers(
  world: World,
  duties: ReadonlyMap<string, string>,
  mayBeGone = false,
): Promise<string[]> {
  const { client, operatorNamespace, namespace, cluster, hosts } = world;
  const problems: string[] = [];
  const ips = [...duties.keys()];
  const found: string[] = [];
  for (const resource of [SECRETS, HOSTS, JOBS, PODS, CONFIG_MAPS]) {
    for (const { metadata } of (await client.list(resource, { namespace: operatorNamespace })).items) {
      found.push(`${metadata.labels?.[labels.purpose] ?? resource.plural} ${metadata.name}`);
    }
  }
  const id = cluster?.metadata.annotations?.[annotations.clusterId] ?? '';
  // A host that could not be reset keeps its record after the cluster is deleted, and the cluster's id stays with it.
  const wanted = [
    ...(cluster ? [`anchor cluster-${id}`] : ips.length > 0 ? found.filter(isTombstone) : []),
    ...ips.map((ip) => `host ${hostRecordName(ip)}`),
  ];
  // Logs are for users and exist as long as the cluster. The garbage collector deletes the pods of Jobs.
  const ours = found.filter(
    (one) => !(cluster && one.startsWith('log ')) && !/^(configmaps|attempt) /.test(one),
  );
  const jobs = found.filter((one) => one.startsWith('attempt ') && !/-[0-9a-f]{5}$/.test(one));
  const missing = wanted.filter((one) => !ours.includes(one) && !(mayBeGone && isAway(one)));
  const orphans = [...ours.filter((one) => !wanted.includes(one)), ...jobs];
  if (missing.length > 0) problems.push(`O5: missing ${missing.join(', ')}`);
  if (orphans.length > 0) problems.push(`O5: left over ${orphans.join(', ')}`);
  if (cluster) {
    const { items } = await client.list(SECRETS, { namespace });
    const names = items.map(({ metadata }) => metadata.name);
    // A failed creation has no kubeconfig.
    const created = cluster.metadata.annotations?.[annotations.applied] !== undefined;
    const kept = !created ? [] : ['demo-kubeconfig', 'demo-known-hosts'];
    for (const name of kept) if (!names.includes(name)) problems.push(`O5: Secret ${name} is missing`);
    const { items: records } = await client.list<HostRecord>(HOSTS, { namespace: operatorNamespace });
    for (const { spec } of records) {
      const has = spec.duties.join('+');
      if (has !== duties.get(spec.ip)) problems.push(`O5: ${spec.ip} is ${has}, not ${duties.get(spec.ip)}`);
    }
    for (const ip of ips.filter((one) => !isAway(one))) {
      if ((await hosts.owner(ip))?.clusterId !== id) problems.push(`O5: ${ip} is not the cluster's`);
      if ((await hosts.remains(ip)) !== id) problems.push(`O5: ${ip} was not made`);
    }
  }
  return problems;
}

interface Past {
  versions: readonly KubernetesCluster[];
  kubelet: Kubelet;
  hosts: Hosts;
  ips: readonly string[];
}

/** O2, O3, O4 and O6 over everything that happened; O5 on hosts that the cluster no longer has. */
export async function judge({ versions, kubelet, hosts, ips }: Past): Promise<string[]> {
  const problems = [...kubelet.complaints.map((text) => `O2: ${text}`), ...regressions(versions)];
  for (const [job, uids] of kubelet.jobs) {
    if (uids.length > 1 && !job.startsWith('fetch-'))
      problems.push(`O3: Job ${job} was made ${uids.length} times`);
  }
  for (const ip of ips) {
    const log = await hosts.log(ip);
    let last = 0;
    for (const line of log) {
      const [verb, cluster, sequence, attempt, , , remains] = line.split(' ');
      const epoch = Number(sequence) * 1_000 + Number(attempt);
      if (epoch < last) problems.push(`O2: ${ip}: "${line}" came after a later run`);
      last = Math.max(last, epoch);
      if (verb === 'reset' && remains && remains !== cluster)
        problems.push(`O4: ${ip}: "${line}" wiped another cluster`);
      if (verb === 'stray' || verb === 'woke') problems.push(`O2: ${ip}: "${line}"`);
    }
    const resets = log.filter((line) => line.startsWith('reset'));
    const owner = await hosts.owner(ip);
    if (resets.length > 0 && log.at(-1)?.startsWith('reset') && owner?.released !== true)
      problems.push(`O5: ${ip} was reset and not released`);
  }
  return problems;
}

/** O6: sequence and attempt only increase, a result stays, and no request is lost. */
function regressions(versions: readonly KubernetesCluster[]): string[] {
  return versions.flatMap(({ status, metadata }, index) => {
    const before = versions[index - 1]?.status;
    const at = `O6: at version ${metadata.resourceVersion}`;
    if (before?.operation && !status?.operation) return [`${at} the operation vanished`];
    if (!before?.operation || !status?.operation) return [];
    return [...regressionsOf(before.operation, status.operation), ...regressionsOfStatus(before, status)].map(
      (what) => `${at} ${what}`,
    );
  });
}

function regressionsOf(old: OperationStatus, now: OperationStatus): string[] {
  if (now.sequence < old.sequence) return [`sequence fell from ${old.sequence} to ${now.sequence}`];
  if (now.sequence > old.sequence)
    return old.result === undefined && now.name !== 'delete'
      ? [`sequence ${now.sequence} began before ${old.sequence} had ended`]
      : [];
  return [
    ...(now.attempt < old.attempt ? ['the attempt fell'] : []),
    ...(old.result !== undefined && now.result !== old.result
      ? [`result ${old.result} became ${now.result}`]
      : []),
  ];
}

function regressionsOfStatus(before: ClusterStatus, status: ClusterStatus): string[] {
  const isSame = before.operation?.sequence === status.operation?.sequence;
  const has = (name: string) => status.conditions?.some(({ type }) => type === name) ?? false;
  return [
    ...((status.requests?.length ?? 0) < (before.requests?.length ?? 0) ? ['a request was forgotten'] : []),
    ...((status.observedGeneration ?? 0) < (before.observedGeneration ?? 0)
      ? ['observedGeneration fell']
      : []),
    ...(isSame && before.phase === 'Creating' && status.phase === 'Prechecking'
      ? ['phase fell from Creating to Prechecking']
      : []),
    ...(has('Stalled') && has('Reconciling') ? ['both Stalled and Reconciling'] : []),
  ];
}
