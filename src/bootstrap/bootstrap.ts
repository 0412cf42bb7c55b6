/**
 * Creates the meta cluster on bare hosts, and installs the operator into it. It needs SSH to the hosts, and Docker on the
 * admin machine.
 */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { inUrl } from '#api/host.ts';
import { catalogue, SUMS_FILE } from '#artifacts/catalogue.ts';
import { releaseOf, releases } from '#artifacts/releases.ts';
import { coveredReleases, siteArtifacts } from '#artifacts/site.ts';
import { materialise, parseSource, sumsOf } from '#artifacts/source.ts';
import { UsageError } from '#base/errors.ts';
import type { RunSpec } from '#protocol/run-spec.ts';
import { createClient } from '#runtime/client/client.ts';
import { parseKubeConfig } from '#runtime/kubeconfig/kube-config.ts';
import { connect, type SshConnection } from '#ssh/connection.ts';
import { pinsOf } from '#ssh/known-hosts.ts';
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
import { presentCluster, presentOn, versionFor } from './present-cluster.ts';
import { ARTIFACTS_PORT, clusterIdOf, runSpecOf, upkeepOf, upkeepSpec } from './run-specs.ts';
import { runHere } from './runner.ts';
import { checkSiteVars } from './site-vars.ts';

export interface BootstrapOptions {
  /** Address of the host, or three addresses. */
  host: readonly string[];
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

const REST_PORT = 32443;
const CONNECT_MS = 15_000;
/** The files of a bundle are beside it; otherwise this is a checkout. */
const root = existsSync(join(import.meta.dirname, 'deploy/manifests'))
  ? import.meta.dirname
  : join(import.meta.dirname, '../..');
const ADDONS = join(root, 'deploy/addons');
const MANIFESTS = join(root, 'deploy/manifests');
const ARGUMENT_SPECS = join(root, 'ansible/roles/settings/meta/argument_specs.yml');

/**
 * Creates the meta cluster on one bare host or three, and installs the operator: it copies artifacts to the hosts, runs the
 * playbooks of Jobs, and applies images and manifests. A later run renews certificates that end soon, upgrades Kubernetes
 * and adds hosts. It also completes an interrupted run.
 */
export async function bootstrap(
  options: BootstrapOptions,
  print: (line: string) => void,
): Promise<Bootstrapped> {
  if (!existsSync(MANIFESTS))
    throw new UsageError(`there is no ${MANIFESTS}; install the command by "make install" in a checkout`);
  const first = checkOptions({ ...options, offeredAddons: manifestFiles(ADDONS) });
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
  const clusterId = clusterIdOf(first);
  const connections = await connectAll(options, privateKey, pinned, print);
  try {
    const present = presentOn(
      await onEach(connections, (one) => presentCluster(one, clusterId)),
      options.host,
    );
    const version = versionFor(present, wanted?.kubernetes, covered);
    const paths = new Set(offered.flatMap((one) => catalogue(one, sums).map(({ path }) => path)));
    const copied = await onEach(connections, (one) => copyArtifacts(one, directory, [...paths], print));
    await onEach(connections, makeSnapshotsDirectory);
    const count = copied.reduce((all, one) => all + one, 0);
    print(count === 0 ? 'the hosts have all artifacts' : `${count} artifacts copied and checked`);
    const lines = connections.map(({ hostKeyLine }) => `${hostKeyLine}\n`).join('');
    const knownHosts = `${pinned}\n${lines}`;
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
            : `upgrading the meta cluster from ${present?.version} to ${version}; ${present?.hosts.length === 1 ? 'its API is away for minutes' : 'its hosts follow one by one'}`,
        );
        const of = {
          version: task === 'update' ? version : (present?.version ?? version),
          from: present?.version,
          hosts: present?.hosts ?? [],
        };
        await run((sequence) => upkeepSpec(options, task, of, sequence));
      }
      return run((sequence) => runSpecOf(options, version, sequence));
    };
    const [made, sent] = await Promise.allSettled([
      making(),
      onEach(connections, (one) => sendImages(one, options, print)),
    ]);
    const report = resultOf(made);
    if (report.kubeconfig === undefined) throw new Error('the runner brought no kubeconfig');
    writeFileSync(options.kubeconfigOut, report.kubeconfig, { mode: 0o600 });
    const given = { sums, inventoryVars, images: resultOf(sent) };
    return await putOperatorIn(connections, options, report.kubeconfig, given, print);
  } finally {
    for (const connection of connections) connection.close();
  }
}

/** Connects to all hosts, or to none. */
async function connectAll(
  { host, port, user }: BootstrapOptions,
  privateKey: string,
  knownHosts: string,
  print: (line: string) => void,
): Promise<SshConnection[]> {
  const made: SshConnection[] = [];
  try {
    for (const address of host) {
      if (knownHosts !== '' && pinsOf(knownHosts, address, port).pinned.size === 0)
        throw new UsageError(`--known-hosts: the file has no key of ${address}; add it (ssh-keyscan)`);
      print(`connecting to ${user}@${address}`);
      made.push(await connect({ host: address, port, user, privateKey, knownHosts, timeoutMs: CONNECT_MS }));
    }
    return made;
  } catch (error) {
    for (const connection of made) connection.close();
    throw error;
  }
}

/** Does the same on each host at once. After a failure it waits for the others. */
async function onEach<A>(
  connections: readonly SshConnection[],
  work: (connection: SshConnection) => Promise<A>,
): Promise<A[]> {
  return (await Promise.allSettled(connections.map(work))).map(resultOf);
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
  connections: readonly SshConnection[],
  options: BootstrapOptions,
  kubeconfig: string,
  /** `images`: those of each host. */
  {
    sums,
    inventoryVars,
    images: sent,
  }: { sums: string; inventoryVars: string; images: readonly (readonly SentImage[])[] },
  print: (line: string) => void,
): Promise<Bootstrapped> {
  const images = sent[0] ?? [];
  await onEach(connections, async (one) => {
    for (const image of images) await importImage(one, image);
  });
  const [first = ''] = options.host;
  const at = inUrl(first);
  const artifactsUrl = `http://${at}:${ARTIFACTS_PORT}`;
  const client = createClient(await parseKubeConfig(kubeconfig), { userAgent: 'matryoshka-bootstrap' });
  try {
    const ca = await install(
      client,
      {
        manifests: [
          ...readManifests(join(root, 'crds')),
          ...readManifests(MANIFESTS),
          ...readManifests(ADDONS, options.addons),
        ],
        images: Object.fromEntries(images.map(({ name, tagged }) => [name, tagged])),
        addresses: options.host,
        snapshotsNode: options.nodeName,
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
  const [connection] = connections;
  if (connection) await untilServed(connection, `https://${at}:${REST_PORT}/healthz`, print);
  return { restUrl: `https://${at}:${REST_PORT}`, artifactsUrl };
}

/** Returns the networks that no host of a cluster may use: the meta cluster's hosts, its pods and its Services. */
const reservedNetworks = ({
  host,
  podCidr,
  serviceCidr,
}: Pick<BootstrapOptions, 'host' | 'podCidr' | 'serviceCidr'>): string[] => [
  ...host.map((address) => `${address}/${address.includes(':') ? 128 : 32}`),
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
