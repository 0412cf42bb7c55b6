import { type ClusterHost, DUTIES } from '#api/cluster-host.ts';
import { inUrl } from '#api/host.ts';
import { shortHash } from '#base/canonical.ts';
import type { RunSpec } from '#protocol/run-spec.ts';
import type { PresentCluster } from './present-cluster.ts';

/** Port of the artifacts on each host of the meta cluster. */
export const ARTIFACTS_PORT = 32080;

/** Options that the runs on the hosts of the meta cluster need. */
interface Options {
  host: readonly string[];
  port: number;
  user: string;
  /** Node name of the first host; the others get a number behind it. */
  nodeName: string;
  podCidr: string;
  serviceCidr: string;
}

/** The id of the meta cluster that begins on a host. */
export const clusterIdOf = (ip: string): string => `meta-${shortHash(ip)}`;

/** Lists the operations that an existing meta cluster needs before the playbook of the creation completes it. */
export const upkeepOf = (present: PresentCluster | undefined, version: string): ('renew' | 'update')[] => [
  ...(present?.endsSoon ? (['renew'] as const) : []),
  ...(present && present.version !== version ? (['update'] as const) : []),
];

/** Returns the run spec of an operation on the existing hosts, by their place in `--host`. */
export function upkeepSpec(
  options: Options,
  task: 'renew' | 'update',
  { version, from, hosts }: { version: string; from: string | undefined; hosts: readonly number[] },
  sequence: number,
): RunSpec {
  const spec = runSpecOf(options, version, sequence);
  return {
    ...spec,
    task,
    callback: task,
    playbook: `${task}.yml`,
    hosts: spec.hosts
      .filter((_, index) => hosts.includes(index))
      .map((host) => ({ ...host, action: 'change' })),
    vars: { ...spec.vars, ...(task === 'update' ? { upgrade_from: from } : {}) },
  };
}

/** Returns the run spec of a Job for hosts that are control planes and workers. */
export function runSpecOf(options: Options, version: string, sequence: number): RunSpec {
  const { host: addresses, port, user, nodeName } = options;
  const [ip = ''] = addresses;
  const hosts = addresses.map(
    (address, index): ClusterHost => ({
      ip: address,
      port,
      user,
      name: index === 0 ? nodeName : `${nodeName}-${index + 1}`,
      duties: [...DUTIES],
    }),
  );
  return {
    task: 'create',
    callback: 'create',
    playbook: 'create.yml',
    cluster: { id: clusterIdOf(ip), namespace: 'matryoshka-system', name: 'meta', region: 'default' },
    run: { job: 'bootstrap', sequence, attempt: 1 },
    steps: [],
    hosts: hosts.map((member) => ({ member, action: 'join' })),
    username: user,
    precheck: 'all',
    brings: ['kubeconfig'],
    endpoint: { name: 'meta.matryoshka.internal', address: ip },
    vars: {
      kube_version: version,
      pod_cidr: options.podCidr,
      service_cidr: options.serviceCidr,
      network: 'flannel',
      // The artifacts also contain the operator's own images, which are in no registry.
      images_mirror: `http://${inUrl(ip)}:${ARTIFACTS_PORT}`,
      images_mirrored_registries: ['docker.io'],
    },
  };
}
