import type { z } from 'zod';
import { messageOf, UsageError } from '#base/errors.ts';
import type { Limits } from '#precheck/check.ts';
import { joined } from '#precheck/checks/joined.ts';
import { checks } from '#precheck/index.ts';
import { limitsOf } from '#precheck/limits.ts';
import { type PrecheckHost, type PrecheckProblem, precheck } from '#precheck/run.ts';
import { pinsOf } from '#ssh/known-hosts.ts';
import type { precheckConfig } from '../command-config.ts';
import { readCluster } from './precheck-cluster.ts';
import type { PrecheckRequest } from './precheck-hosts.ts';
import { readInventory } from './precheck-inventory.ts';
import { reportOf } from './precheck-report.ts';

export type PrecheckConfig = Readonly<z.infer<typeof precheckConfig>>;

/** Width of the table without a terminal. */
const COLUMNS = 140;

const bothOrNone = 'name the hosts by --inventory or by --from-cluster, not by both';

async function requestOf({ inventory, fromCluster, ...config }: PrecheckConfig): Promise<PrecheckRequest> {
  if ((inventory === undefined) === (fromCluster === undefined)) throw new UsageError(bothOrNone);
  if (inventory !== undefined) return readInventory(inventory, config.knownHosts);
  const { namespace, kubeconfig, knownHosts } = config;
  return readCluster({ name: fromCluster ?? '', namespace, kubeconfig, knownHosts });
}

function readLimits(given: unknown): Limits {
  try {
    return limitsOf(checks, given);
  } catch (error) {
    throw new UsageError(`precheckLimits: ${messageOf(error)}`);
  }
}

/** Marks hosts that report to have joined this cluster as its hosts; each of them costs one more connection. */
async function asTheyAre(hosts: readonly PrecheckHost[], limits: Limits): Promise<PrecheckHost[]> {
  if (hosts.every(({ clusterId }) => clusterId === '')) return [...hosts];
  const { said } = await precheck(hosts, [joined], { limits });
  return hosts.map((host) => {
    const [id] = said.get(host.ip)?.text('joined').split(' ') ?? [];
    return id === host.clusterId ? { ...host, role: 'present' } : host;
  });
}

/** Whether no key of the host is pinned, so that any key is trusted. */
function isTaken({ target: { knownHosts, host, port } }: PrecheckHost): boolean {
  try {
    return pinsOf(knownHosts, host, port).pinned.size === 0;
  } catch {
    return false;
  }
}

/** Runs `matryoshka precheck`: checks hosts as a Job would, prints the result, and returns the number of errors. */
export async function precheckCommand(
  config: PrecheckConfig,
  print: (line: string) => void,
): Promise<number> {
  const request = await requestOf(config);
  const limits = readLimits(request.limits);
  const hosts = await asTheyAre(request.hosts, limits);
  const found = await precheck(hosts, checks, {
    limits,
    networks: request.networks,
    podNetwork: request.podNetwork,
    artifactUrl: config.artifactsUrl,
  });
  const lines = found.knownHosts.split('\n');
  const taken = hosts.filter(isTaken).flatMap(({ target: { host, port } }) => {
    const name = port === 22 ? host : `[${host}]:${port}`;
    return lines.filter((line) => line.startsWith(`${name} `));
  });
  const order = new Map(checks.map(({ name }, index) => [name, index]));
  const problems: PrecheckProblem[] = found.problems.toSorted(
    (a, b) => (order.get(a.check) ?? -1) - (order.get(b.check) ?? -1),
  );
  print(reportOf({ hosts, problems, taken }, config.output, checks, process.stdout.columns ?? COLUMNS));
  return problems.filter(({ severity }) => severity === 'error').length;
}
