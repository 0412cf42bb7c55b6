import { messageOf } from '#base/errors.ts';
import { checks } from '#precheck/index.ts';
import { type PrecheckProblem, type PrecheckResult, precheck } from '#precheck/run.ts';
import { hostsOf } from './hosts.ts';
import { writePlaybookFiles } from './inventory.ts';
import { fetchKubeconfig } from './kubeconfig.ts';
import { runPlaybook } from './playbook.ts';
import type { RunReport } from './report.ts';
import type { Settings } from './settings.ts';
import type { Uplink } from './uplink.ts';

const PLAYBOOKS = {
  create: 'create.yml',
  'scale-up': 'scale-up.yml',
  'scale-down': 'scale-down.yml',
  delete: 'terminate.yml',
};

/** Ends a run with a verdict: what went wrong, in a word and in a sentence. */
class Failure extends Error {
  readonly reason: string;
  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

/**
 * One attempt from start to verdict: look at every host, run the playbook (which takes them first), fetch the kubeconfig. Rejects
 * only when `signal` aborts: then nobody knows how far it came, and no verdict may be given.
 */
export async function runAttempt(
  settings: Settings,
  uplink: Uplink,
  signal: AbortSignal,
): Promise<RunReport> {
  const hosts = hostsOf(settings);
  const say = (event: 'info' | 'precheck', message: string, host?: string) =>
    uplink.send({ time: new Date().toISOString(), event, message, ...(host === undefined ? {} : { host }) });
  const url = settings.artifacts.baseUrl;
  say(
    'info',
    `${settings.OPERATION} of ${settings.CLUSTER_NAME}, attempt ${settings.ATTEMPT}: looking at ${hosts.length} hosts`,
  );
  const found = await precheck(hosts, settings.OPERATION === 'fetch' ? [] : checks, {
    limits: settings.limits,
    artifactUrl: url.startsWith('http') ? `${url}/healthz` : undefined,
  });
  const failures = new Map<string, string>();
  try {
    for (const { ip, check, severity, message } of found.problems)
      say('precheck', `${severity}: ${check}: ${message}`, ip);
    weigh(found.problems, hosts, failures);
    if (settings.OPERATION !== 'fetch') await work(settings, uplink, signal, found, hosts, failures);
    // After a playbook that succeeded, a kubeconfig that cannot be had now is fetched later; only a fetch must bring it.
    const kubeconfig = await kubeconfigFrom(settings, hosts, found).catch((error: unknown) => {
      if (settings.OPERATION === 'fetch') throw error;
      say('info', `the kubeconfig could not be read: ${messageOf(error)}`);
      return undefined;
    });
    return {
      success: true,
      message: failures.size === 0 ? 'done' : `done, but for ${[...failures.keys()].join(', ')}`,
      hosts: outcomes(hosts, failures, true),
      knownHosts: found.knownHosts,
      ...(kubeconfig === undefined ? {} : { kubeconfig }),
    };
  } catch (error) {
    signal.throwIfAborted();
    const reason = error instanceof Failure ? error.reason : 'OperationFailed';
    const message = messageOf(error);
    say('info', `${reason}: ${message}`);
    return {
      success: false,
      reason,
      message,
      hosts: outcomes(hosts, failures, false),
      knownHosts: found.knownHosts,
    };
  } finally {
    for (const connection of found.connections.values()) connection.close();
  }
}

/** What a host's fence said when it refused this run. */
const refusalIn = (message: string): string | undefined =>
  /(HostConflict|StaleRun|HostBusy):/.exec(message)?.[1];

type Hosts = ReturnType<typeof hostsOf>;

/** Hosts that leave may be away; a problem of any other host ends the attempt, all problems in one message. */
function weigh(problems: readonly PrecheckProblem[], hosts: Hosts, failures: Map<string, string>): void {
  const leaving = new Set(hosts.filter(({ role }) => role === 'leaving').map(({ ip }) => ip));
  const errors = problems.filter(({ severity }) => severity === 'error');
  for (const { ip, message } of errors) failures.set(ip, message);
  const grave = errors.filter(({ ip, check }) => !leaving.has(ip) || check === 'HostKeyChanged');
  if (grave.length === 0) return;
  const first = grave[0]?.check ?? '';
  const away = ['Unreachable', 'AuthenticationFailed', 'HostKeyChanged', 'KeyInvalid'];
  const reason = away.includes(first)
    ? `Host${first.replace(/^Host/, '')}`
    : first === 'owner'
      ? 'HostConflict'
      : 'PrecheckFailed';
  throw new Failure(reason, grave.map(({ ip, message }) => `${ip}: ${message}`).join('; '));
}

async function work(
  settings: Settings,
  uplink: Uplink,
  signal: AbortSignal,
  found: PrecheckResult,
  hosts: Hosts,
  failures: Map<string, string>,
): Promise<void> {
  const say = (message: string) => uplink.send({ time: new Date().toISOString(), event: 'info', message });
  signal.throwIfAborted();
  const untouched = leftAlone(hosts, found, settings.CLUSTER_ID);
  for (const ip of untouched)
    if (!failures.has(ip)) say(`${ip} is not this cluster's by its owner file; it is left as it is`);
  const pinned = `${settings.access.knownHosts}\n${found.knownHosts}`;
  const files = writePlaybookFiles(settings, pinned, untouched);
  if (settings.OPERATION === 'fetch') return;
  const onEvent = (event: Parameters<Uplink['send']>[0]) => {
    if (event.event === 'play' && event.play !== undefined) uplink.step(event.play);
    uplink.send(event);
  };
  const result = await runPlaybook(PLAYBOOKS[settings.OPERATION], settings, files, onEvent, signal);
  signal.throwIfAborted();
  const byName = new Map(hosts.map((host) => [host.name, host]));
  for (const [name, message] of result.failed) failures.set(byName.get(name)?.ip ?? name, message);
  const onlyLeaving = [...result.failed.keys()].every((name) => byName.get(name)?.role === 'leaving');
  // Of hosts that leave, one that fails does not keep the others; the controller remembers it as unclean.
  if (!result.ok && !(result.failed.size > 0 && onlyLeaving))
    throw new Failure(refusalIn(result.message) ?? 'OperationFailed', result.message);
}

/**
 * Leaving hosts that no play may touch: those that are away, and those that do not say themselves that they belong to
 * this cluster. A claim alone is no proof: a host may have been claimed by a mistyped address and then refused.
 */
function leftAlone(hosts: Hosts, { facts }: PrecheckResult, clusterId: string): Set<string> {
  const leaving = hosts.filter(({ role }) => role === 'leaving').map(({ ip }) => ip);
  return new Set(
    leaving.filter((ip) => {
      const owner = facts.get(ip)?.owner;
      return !owner || owner.released || owner.clusterId !== clusterId;
    }),
  );
}

const outcomes = (hosts: Hosts, failures: ReadonlyMap<string, string>, success: boolean) =>
  hosts
    .filter(({ role }) => role !== 'present')
    .map(({ ip }) => {
      const message = failures.get(ip);
      const ok = message === undefined && success;
      return { ip, ok, ...(message === undefined ? {} : { message: message.slice(0, 300) }) };
    });

async function kubeconfigFrom(
  settings: Settings,
  hosts: Hosts,
  found: PrecheckResult,
): Promise<string | undefined> {
  if (settings.OPERATION === 'delete') return undefined;
  const master =
    hosts.find(({ role }) => role === 'control-plane') ??
    hosts.find(({ role, ip }) => role === 'present' && isMaster(settings, ip));
  const connection = master && found.connections.get(master.ip);
  if (!connection) throw new Failure('KubeconfigMissing', 'no control plane host answered');
  const { control_plane_endpoint_address: address, control_plane_endpoint_name: name } =
    settings.inventory.all.vars;
  // Without an address the endpoint's name is one that resolves for everybody.
  return fetchKubeconfig(connection, String(address || name || master.ip));
}

const isMaster = ({ inventory }: Settings, ip: string): boolean =>
  Object.values(inventory.all.children['kube-master'].hosts).some((host) => host.ip === ip);
