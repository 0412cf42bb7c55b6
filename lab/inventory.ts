import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { catalogue, playbookVariables, SUMS_FILE } from '#artifacts/catalogue.ts';
import { releases } from '#artifacts/releases.ts';
import { artifactsDir } from './artifacts/places.ts';
import { type LabHost, labHosts } from './hosts/places.ts';

/** A cluster of lab hosts, for playbooks run by hand: masters first, then workers, then those that leave. */
export interface LabCluster {
  readonly name: string;
  readonly masters: number;
  readonly workers: number;
  /** The first host's number. */
  readonly from: number;
  /** Names of hosts that leave. */
  readonly leaving: readonly string[];
  /** Names of hosts that a scale-up adds. */
  readonly joining: readonly string[];
  readonly sequence: number;
  readonly artifactsUrl: string;
}

/** The inventory as the Job's would be, with what only lab hosts need. */
export async function labInventory(cluster: LabCluster): Promise<string> {
  const [release] = releases;
  const artifacts = catalogue(release, await readFile(join(artifactsDir, SUMS_FILE), 'utf8'));
  const deviations = z
    .record(z.string(), z.unknown())
    .parse(parse(await readFile(join(import.meta.dirname, 'inventory-vars.yaml'), 'utf8')));
  const hosts = labHosts(cluster.from + cluster.masters + cluster.workers - 1).slice(cluster.from - 1);
  const group = (members: readonly LabHost[]) => ({
    hosts: Object.fromEntries(members.map(({ name }) => [name, {}])),
  });
  const masters = hosts.slice(0, cluster.masters);
  const [first] = masters;
  return stringify({
    all: {
      hosts: Object.fromEntries(
        hosts.map(({ name, ip }) => [
          name,
          { ansible_host: ip, ip, access_ip: ip, ansible_port: 22, ansible_user: 'root' },
        ]),
      ),
      children: {
        'kube-master': group(masters),
        'kube-node': group(hosts.slice(cluster.masters)),
        etcd: group(masters),
        joining: group(hosts.filter(({ name }) => cluster.joining.includes(name))),
        leaving: group(hosts.filter(({ name }) => cluster.leaving.includes(name))),
      },
      vars: {
        cluster_name: cluster.name,
        cluster_id: `lab-${cluster.name}`,
        kube_version: release.kubernetes,
        control_plane_endpoint_name: `${cluster.name}.matryoshka.internal`,
        control_plane_endpoint_address: first?.ip ?? '',
        pod_cidr: '10.244.0.0/16',
        service_cidr: '10.96.0.0/16',
        artifacts_base_url: cluster.artifactsUrl,
        ...playbookVariables(artifacts),
        operation_sequence: cluster.sequence,
        kubeconfig_file: `/lab/${cluster.name}.kubeconfig`,
        ansible_ssh_private_key_file: '/lab/id_ed25519',
        ansible_ssh_common_args: '-o UserKnownHostsFile=/lab/known_hosts',
        ...deviations,
      },
    },
  });
}
