import { hasEtcd, isEtcdOnly, isMaster } from '#api/cluster-host.ts';
import type { HostRole } from '#precheck/check.ts';
import { ANSWER_TIMEOUT_MS, type PrecheckHost } from '#precheck/run.ts';
import { inventoryOf } from '#protocol/inventory.ts';
import { inputsOf } from '#protocol/role-vars/inputs.ts';
import { topologyOf } from '#protocol/role-vars/topology.ts';
import type { PlannedHost, RunSpec } from '#protocol/run-spec.ts';
import { PREPARE_UPGRADE } from '#protocol/upgrade-vars.ts';
import type { Settings } from './settings.ts';

const SSH_TIMEOUT_MS = 15_000;

function roleOf({ action, member: host }: PlannedHost): HostRole {
  if (action === 'leave') return 'leaving';
  if (action === 'join') return isMaster(host) ? 'control-plane' : isEtcdOnly(host) ? 'etcd' : 'worker';
  return 'present';
}

/**
 * Lists the hosts of all steps, or all hosts of a run spec without steps. Other hosts may be away, so no check connects to
 * them.
 */
function workedOn({ hosts, steps }: RunSpec): readonly PlannedHost[] {
  const at = new Set(steps.flatMap((step) => step.hosts));
  return steps.length === 0 ? hosts : hosts.filter(({ member: host }) => at.has(host.ip));
}

/** Lists the hosts to check, each with its role in the operation and its SSH target. */
export function checkedHosts({ runSpec, access }: Pick<Settings, 'runSpec' | 'access'>): PrecheckHost[] {
  const { ownEndpoint, externalEtcd } = topologyOf(inputsOf(inventoryOf(runSpec).all));
  const { kube_version: version } = runSpec.vars;
  const isUpgrade = runSpec.steps.some(({ name }) => name === PREPARE_UPGRADE);
  const upgradeTo = isUpgrade && typeof version === 'string' ? version : undefined;
  return workedOn(runSpec).map((host) => {
    const { ip, name, port = 22, user = runSpec.username } = host.member;
    return {
      name,
      ip,
      role: roleOf(host),
      isMaster: isMaster(host.member),
      behindBalancer: !ownEndpoint,
      upgradeTo: host.action === 'change' ? upgradeTo : undefined,
      withEtcd: hasEtcd(host.member),
      // Members of external etcd are systemd units of the roles.
      kubeadmMakesEtcd: !externalEtcd && hasEtcd(host.member),
      clusterId: runSpec.cluster.id,
      ownClusters: runSpec.ownClusters,
      reclaim: host.reclaim,
      target: {
        host: ip,
        port,
        user,
        privateKey: access.privateKey,
        password: access.password,
        knownHosts: access.knownHosts,
        timeoutMs: SSH_TIMEOUT_MS,
      },
    };
  });
}

const seconds = (ms: number): string => `${ms / 1000} s`;

/** Returns the log line before the checks of hosts: a log that ends with it waits for a host. */
export function announcement({ task, cluster, run }: RunSpec, { length }: readonly PrecheckHost[]): string {
  const hosts = `${length} ${length === 1 ? 'host' : 'hosts'}`;
  // Limits of connecting, handshake, and answer.
  const longest = 2 * SSH_TIMEOUT_MS + ANSWER_TIMEOUT_MS;
  return (
    `${task} of ${cluster.name}, attempt ${run.attempt}: looking at ${hosts}; ` +
    `one that does not answer is given up after ${seconds(SSH_TIMEOUT_MS)}, one that stops answering within ${seconds(longest)}`
  );
}
