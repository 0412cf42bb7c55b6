import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { catalogue, playbookVariables, SUMS_FILE } from '#artifacts/catalogue.ts';
import { withRoleVars } from '#protocol/role-vars/role-vars.ts';
import { labReleases } from './artifacts/lab-releases.ts';
import { artifactsDir } from './artifacts/places.ts';
import { labHosts } from './hosts/places.ts';

/** A cluster of lab hosts, by name, for playbooks that are run by hand. */
export interface LabCluster {
  readonly name: string;
  /** Default: `lab-<name>`. */
  readonly id?: string;
  readonly podCidr?: string;
  readonly serviceCidr?: string;
  /** Whether this run creates the masters. If not, they exist already. */
  readonly creates: boolean;
  readonly masters: readonly string[];
  /** At a scale-up, only the new workers. */
  readonly workers: readonly string[];
  /** At a scale-down or termination, the hosts that leave. */
  readonly leaving: readonly string[];
  /** Host name → node name, if they differ. */
  readonly nodeNames?: Readonly<Record<string, string>>;
  readonly sequence: number;
  readonly attempt: number;
  readonly artifactsUrl: string;
  /** Further variables of the roles. */
  readonly vars?: Readonly<Record<string, unknown>>;
}

/** Writes an inventory like a Job's, with the variables that only lab hosts need. */
export async function labInventory(cluster: LabCluster): Promise<string> {
  const [release] = labReleases;
  const artifacts = catalogue(release, await readFile(join(artifactsDir, SUMS_FILE), 'utf8'));
  const deviations = z
    .record(z.string(), z.unknown())
    .parse(parse(await readFile(join(import.meta.dirname, 'inventory-vars.yaml'), 'utf8')));
  const named = new Set([...cluster.masters, ...cluster.workers, ...cluster.leaving]);
  const hosts = labHosts(99).filter(({ name }) => named.has(name));
  const group = (names: readonly string[]) => ({
    hosts: Object.fromEntries(hosts.filter(({ name }) => names.includes(name)).map(({ ip }) => [ip, {}])),
  });
  const { masters, workers, leaving, creates } = cluster;
  const first = hosts.find(({ name }) => name === cluster.masters[0]);
  return stringify({
    all: withRoleVars({
      hosts: Object.fromEntries(
        hosts.map(({ name, ip }) => [
          ip,
          {
            ansible_host: ip,
            node_name: cluster.nodeNames?.[name] ?? name,
            ...{ ip, access_ip: ip, ansible_port: 22, ansible_user: 'root' },
          },
        ]),
      ),
      children: {
        'kube-master': group(masters),
        'kube-node': group([...workers, ...leaving]),
        etcd: group(masters),
        join: group(creates ? [...masters, ...workers] : workers),
        change: group([]),
        leave: group(leaving),
        stay: group(creates ? [] : masters),
        untouched: group([]),
      },
      vars: {
        cluster_name: cluster.name,
        cluster_id: cluster.id ?? `lab-${cluster.name}`,
        kube_version: release.kubernetes,
        control_plane_endpoint_name: `${cluster.name}.matryoshka.internal`,
        control_plane_endpoint_address: first?.ip ?? '',
        pod_cidr: cluster.podCidr ?? '10.244.0.0/16',
        service_cidr: cluster.serviceCidr ?? '10.96.0.0/16',
        artifacts_base_url: cluster.artifactsUrl,
        ...playbookVariables(release, artifacts),
        operation_sequence: cluster.sequence,
        operation_attempt: cluster.attempt,
        pod_uid: `by-hand-${cluster.attempt}`,
        kubeconfig_file: `/lab/${cluster.name}.kubeconfig`,
        ansible_ssh_private_key_file: '/lab/id_ed25519',
        ansible_ssh_common_args: '-o UserKnownHostsFile=/lab/known_hosts',
        ...deviations,
        ...cluster.vars,
      },
    }),
  });
}
