import type { HostRole } from '#precheck/check.ts';
import type { PrecheckHost } from '#precheck/run.ts';
import type { Settings } from './settings.ts';

const SSH_TIMEOUT_MS = 15_000;

/** The hosts of the inventory, each once, with what it is to be. */
export function hostsOf(settings: Settings): PrecheckHost[] {
  const { inventory, access, CLUSTER_ID: clusterId, OPERATION: operation } = settings;
  const { children } = inventory.all;
  const masterRole: HostRole = operation === 'create' ? 'control-plane' : 'present';
  const nodeRole: HostRole = operation === 'create' || operation === 'scale-up' ? 'worker' : 'present';
  const groups = [
    { hosts: children['kube-master'].hosts, role: masterRole },
    { hosts: children['kube-node'].hosts, role: nodeRole },
    { hosts: children.leaving.hosts, role: 'leaving' as const },
  ];
  return groups.flatMap(({ hosts, role }) =>
    Object.entries(hosts).map(([name, vars]) => ({
      name,
      ip: vars.ip,
      role,
      clusterId,
      reclaim: vars.reclaim,
      target: {
        host: vars.ansible_host,
        port: vars.ansible_port,
        user: vars.ansible_user,
        privateKey: access.privateKey,
        password: access.password,
        knownHosts: access.knownHosts,
        timeoutMs: SSH_TIMEOUT_MS,
      },
    })),
  );
}
