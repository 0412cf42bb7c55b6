/**
 * Creates the meta cluster on a bare host, and installs the operator into it. It needs SSH to the host, and Docker on the
 * admin machine.
 */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { type ClusterHost, DUTIES } from '#api/cluster-host.ts';
import { inUrl } from '#api/host.ts';
import { catalogue, SUMS_FILE } from '#artifacts/catalogue.ts';
import { releaseOf, releases } from '#artifacts/releases.ts';
import { coveredReleases, siteArtifacts } from '#artifacts/site.ts';
import { materialise, parseSource, sumsOf } from '#artifacts/source.ts';
import { shortHash } from '#base/canonical.ts';
import { UsageError } from '#base/errors.ts';
import type { RunSpec } from '#protocol/run-spec.ts';
import { createClient } from '#runtime/client/client.ts';
import { parseKubeConfig } from '#runtime/kubeconfig/kube-config.ts';
import { connect, type SshConnection } from '#ssh/connection.ts';
import { checkOptions } from './check-options.ts';
import {
  checkImage,
  copyArtifacts,
  HOST_ARTIFACTS,
  importImage,
  makeSnapshotsDirectory,
  type SentImage,
  sendImage,
} from './host-files.ts';
import { install } from './install.ts';
import { manifestFiles, readManifests } from './manifests.ts';
import { type PresentCluster, presentCluster, versionFor } from './present-cluster.ts';
import { runHere } from './runner.ts';
import { checkSiteVars } from './site-vars.ts';

export interface BootstrapOptions {
  host: string;
  port: number;
  user: string;
  nodeName: string;
  sshKey: string;
  knownHosts?: string | undefined;
  artifacts: string;
  inventoryVars?: string | undefined;
  kubeVersion?: string | undefined;
  podCidr: string;
  serviceCidr: string;
  servedNamespaces: readonly string[];
  /** Names of files in deploy/addons. */
  addons: readonly string[];
  operatorImage: string;
  runnerImage: string;
  kubeconfigOut: string;
  caOut: string;
}

export interface Bootstrapped {
  restUrl: string;
  artifactsUrl: string;
}

const ARTIFACTS_PORT = 32080;
const REST_PORT = 32443;
const CONNECT_MS = 15_000;
const root = join(import.meta.dirname, '../..');
const ADDONS = join(root, 'deploy/addons');
const ARGUMENT_SPECS = join(root, 'ansible/roles/settings/meta/argument_specs.yml');

/**
 * Creates the meta cluster on one bare host and installs the operator: it copies artifacts to the host, runs the playbooks
 * of Jobs, and applies images and manifests. A later run renews certificates that end soon and upgrades Kubernetes. It also
 * completes an interrupted run.
 */
export async function bootstrap(
  options: BootstrapOptions,
  print: (line: string) => void,
): Promise<Bootstrapped> {
  checkOptions({ ...options, offeredAddons: manifestFiles(ADDONS) });
  const privateKey = readNeeded(options.sshKey, '--ssh-key');
  const inventoryVars =
    options.inventoryVars === undefined ? '{}' : readNeeded(options.inventoryVars, '--inventory-vars');
  checkSiteVars(inventoryVars, ARGUMENT_SPECS);
  const pinned = options.knownHosts === undefined ? '' : readNeeded(options.knownHosts, '--known-hosts');
  const wanted = options.kubeVersion === undefined ? undefined : releaseOf(options.kubeVersion);
  if (options.kubeVersion !== undefined && !wanted)
    throw new UsageError(
      `--kube-version: ${options.kubeVersion} is not offered; choose one of ${releases.map(({ kubernetes }) => kubernetes).join(', ')}`,
    );
  await checkImage(options.operatorImage, '--operator-image');
  await checkImage(options.runnerImage, '--runner-image');
  for (const path of [options.kubeconfigOut, options.caOut])
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const directory = await artifactsDirectory(options.artifacts, print);
  const sums = readNeeded(join(directory, SUMS_FILE), '--artifacts');
  const offered = coveredReleases(sums);
  const [newest, ...older] = offered.map(({ kubernetes }) => kubernetes);
  if (newest === undefined) throw new Error('the sums cover no release');
  const covered: [string, ...string[]] = [newest, ...older];
  print(`offers Kubernetes ${covered.join(', ')}`);
  const { host, port, user } = options;
  print(`connecting to ${user}@${host}`);
  const connection = await connect({
    host,
    port,
    user,
    privateKey,
    knownHosts: pinned,
    timeoutMs: CONNECT_MS,
  });
  try {
    const present = await presentCluster(connection, clusterIdOf(host));
    const version = versionFor(present, wanted?.kubernetes, covered);
    const paths = new Set(offered.flatMap((one) => catalogue(one, sums).map(({ path }) => path)));
    const copied = await copyArtifacts(connection, directory, [...paths], print);
    await makeSnapshotsDirectory(connection);
    print(copied === 0 ? 'the host has all artifacts' : `${copied} artifacts copied and checked`);
    const knownHosts = pinned === '' ? `${connection.hostKeyLine}\n` : pinned;
    // The admin machine mostly waits for Kubernetes here, so the images are sent at the same time.
    const run = (runSpec: (sequence: number) => RunSpec) =>
      runHere(
        {
          image: options.runnerImage,
          runSpec,
          artifacts: siteArtifacts(`file://${HOST_ARTIFACTS}`, sums),
          inventoryVars,
          privateKey,
          knownHosts,
        },
        print,
      );
    const making = async () => {
      for (const task of upkeepOf(present, version)) {
        print(
          task === 'renew'
            ? 'certificates have expired or end within 30 days: renewing'
            : `upgrading the meta cluster from ${present?.version} to ${version}; its API is away for minutes`,
        );
        const of = {
          version: task === 'update' ? version : (present?.version ?? version),
          from: present?.version,
        };
        await run((sequence) => upkeepSpec(options, task, of, sequence));
      }
      return run((sequence) => runSpecOf(options, version, sequence));
    };
    const [made, sent] = await Promise.allSettled([making(), sendImages(connection, options, print)]);
    const report = resultOf(made);
    if (report.kubeconfig === undefined) throw new Error('the runner brought no kubeconfig');
    writeFileSync(options.kubeconfigOut, report.kubeconfig, { mode: 0o600 });
    const given = { sums, inventoryVars, images: resultOf(sent) };
    return await putOperatorIn(connection, options, report.kubeconfig, given, print);
  } finally {
    connection.close();
  }
}

async function sendImages(
  connection: SshConnection,
  { operatorImage, runnerImage }: BootstrapOptions,
  print: (line: string) => void,
): Promise<SentImage[]> {
  return [
    await sendImage(connection, operatorImage, 'matryoshka/operator', print),
    await sendImage(connection, runnerImage, 'matryoshka/runner', print),
  ];
}

function resultOf<T>(outcome: PromiseSettledResult<T>): T {
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
}

async function putOperatorIn(
  connection: SshConnection,
  options: BootstrapOptions,
  kubeconfig: string,
  { sums, inventoryVars, images }: { sums: string; inventoryVars: string; images: readonly SentImage[] },
  print: (line: string) => void,
): Promise<Bootstrapped> {
  for (const image of images) await importImage(connection, image);
  const at = inUrl(options.host);
  const artifactsUrl = `http://${at}:${ARTIFACTS_PORT}`;
  const client = createClient(await parseKubeConfig(kubeconfig), { userAgent: 'matryoshka-bootstrap' });
  try {
    const ca = await install(
      client,
      {
        manifests: [
          ...readManifests(join(root, 'crds')),
          ...readManifests(join(root, 'deploy/manifests')),
          ...readManifests(ADDONS, options.addons),
        ],
        images: Object.fromEntries(images.map(({ name, tagged }) => [name, tagged])),
        address: options.host,
        site: {
          'artifacts.json': JSON.stringify({
            ...siteArtifacts(artifactsUrl, sums),
            reservedNetworks: reservedNetworks(options),
          }),
          'inventory-vars.yaml': inventoryVars,
        },
        servedNamespaces: options.servedNamespaces,
      },
      print,
    );
    writeFileSync(options.caOut, ca);
  } finally {
    await client.close();
  }
  await untilServed(connection, `https://${at}:${REST_PORT}/healthz`, print);
  return { restUrl: `https://${at}:${REST_PORT}`, artifactsUrl };
}

/** Returns the networks that no host of a cluster may use: the meta cluster's host, its pods and its Services. */
const reservedNetworks = ({
  host,
  podCidr,
  serviceCidr,
}: Pick<BootstrapOptions, 'host' | 'podCidr' | 'serviceCidr'>): string[] => [
  `${host}/${host.includes(':') ? 128 : 32}`,
  ...`${podCidr},${serviceCidr}`.split(','),
];

const SERVED_SECONDS = 60;

/** Waits until the host can reach the server: pods are ready a moment before the node's packet rules point at them. */
async function untilServed(
  connection: SshConnection,
  url: string,
  print: (line: string) => void,
): Promise<void> {
  const once = `curl -sfk -m 3 -o /dev/null '${url}'`;
  const script = `for try in $(seq ${SERVED_SECONDS}); do ${once} && exit 0; sleep 1; done; exit 1`;
  const { code } = await connection.run(script, { timeoutMs: (SERVED_SECONDS * 4 + 10) * 1_000 });
  if (code !== 0) print(`${url} does not answer from the host itself; check the pods of matryoshka-server`);
}

/** Returns the directory for `--artifacts`: the given one, or one that is filled from upstream or a mirror and checked. */
async function artifactsDirectory(setting: string, print: (line: string) => void): Promise<string> {
  const source = parseSource(setting === 'upstream' || setting.includes('://') ? setting : resolve(setting));
  if (source.kind === 'directory') return source.path;
  const directory = join(homedir(), '.matryoshka/artifacts');
  // A mirror need not have every release.
  const wanted = source.kind === 'mirror' ? coveredReleases(await sumsOf(source, releases[0])) : releases;
  for (const release of wanted) await materialise(source, release, directory, print);
  return directory;
}

function readNeeded(path: string, flag: string): string {
  if (!existsSync(path)) throw new UsageError(`${flag}: there is no file ${path}`);
  return readFileSync(path, 'utf8');
}

const clusterIdOf = (ip: string): string => `meta-${shortHash(ip)}`;

/** Lists the operations that an existing meta cluster needs before the playbook of the creation completes it. */
const upkeepOf = (present: PresentCluster | undefined, version: string): ('renew' | 'update')[] => [
  ...(present?.endsSoon ? (['renew'] as const) : []),
  ...(present && present.version !== version ? (['update'] as const) : []),
];

/** Returns the run spec of an operation on the existing host. */
function upkeepSpec(
  options: BootstrapOptions,
  task: 'renew' | 'update',
  { version, from }: { version: string; from: string | undefined },
  sequence: number,
): RunSpec {
  const spec = runSpecOf(options, version, sequence);
  return {
    ...spec,
    task,
    callback: task,
    playbook: `${task}.yml`,
    hosts: spec.hosts.map((host) => ({ ...host, action: 'change' })),
    vars: { ...spec.vars, ...(task === 'update' ? { upgrade_from: from } : {}) },
  };
}

/** Returns the run spec of a Job for one host that is both control plane and worker. */
function runSpecOf(options: BootstrapOptions, version: string, sequence: number): RunSpec {
  const { host: ip, port, user, nodeName: name } = options;
  const host: ClusterHost = { ip, port, user, name, duties: [...DUTIES] };
  return {
    task: 'create',
    callback: 'create',
    playbook: 'create.yml',
    cluster: { id: clusterIdOf(ip), namespace: 'matryoshka-system', name: 'meta', region: 'default' },
    run: { job: 'bootstrap', sequence, attempt: 1 },
    steps: [],
    hosts: [{ member: host, action: 'join' }],
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
