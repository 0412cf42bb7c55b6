import { once } from 'node:events';
import { hasEtcd, isMaster } from '#api/cluster-host.ts';
import { messageOf } from '#base/errors.ts';
import { joined } from '#precheck/checks/joined.ts';
import { checks } from '#precheck/index.ts';
import { type PrecheckProblem, type PrecheckResult, precheck } from '#precheck/run.ts';
import { manifestFilesIn } from '#protocol/manifests.ts';
import { CANCELLED, MAX_SEQUENCE, type Report } from '#protocol/report.ts';
import { announcement, checkedHosts } from './checked-hosts.ts';
import { cutOffOn } from './cut-off.ts';
import { type Findings, hostReports } from './host-reports.ts';
import { hostsAhead } from './hosts-ahead.ts';
import { fetchKubeconfig, firstReady } from './kubeconfig.ts';
import { isGrave, leftAlone } from './left-alone.ts';
import { MACHINE_ON_RECORD, machineProblems } from './machines.ts';
import { checkManifests } from './manifests.ts';
import { runPlaybook } from './playbook.ts';
import { writePlaybookFiles } from './playbook-files.ts';
import type { Settings } from './settings.ts';
import { type Progress, removeLoaded, saveSnapshot, withSnapshot } from './snapshots.ts';
import type { Uplink } from './uplink.ts';

/** Ends a run with a result: a reason and a message. */
class Failure extends Error {
  readonly reason: string;
  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

/**
 * Carries out a run spec and returns its report: it checks every host, runs the playbook, and fetches what the spec asks
 * for. The run succeeds if its playbook reports that it is complete and every joining or changing host succeeded. It rejects
 * only if `signal` aborts: its progress is then unknown, so it has no result. A cancelled run starts nothing more, and
 * reports its progress.
 */
export async function carryOut(settings: Settings, uplink: Uplink, signal: AbortSignal): Promise<Report> {
  const { runSpec, artifacts } = settings;
  const say = (event: 'info' | 'precheck', message: string, host?: string) =>
    uplink.send({ time: new Date().toISOString(), event, message, ...(host === undefined ? {} : { host }) });
  const { baseUrl: url } = artifacts;
  const checked = checkedHosts(settings);
  say('info', announcement(runSpec, checked));
  const looking = precheck(checked, runSpec.precheck === 'all' ? checks : [], {
    limits: settings.limits,
    networks: ['pod_cidr', 'service_cidr'].map((name) => String(runSpec.vars[name] ?? '')),
    podNetwork: runSpec.vars['network'] === undefined ? undefined : String(runSpec.vars['network']),
    artifactUrl: url.startsWith('http') ? `${url}/healthz` : undefined,
    keep: new Set(
      runSpec.hosts
        .filter(({ member: host }) => isMaster(host) || (runSpec.snapshot && hasEtcd(host)))
        .map(({ member: host }) => host.ip),
    ),
  });
  const found = await unlessCancelled(looking, uplink.cancelled, NOTHING);
  const findings: Findings = {
    found,
    failures: new Map(),
    played: new Map(),
    versions: new Map(),
    steps: [],
    cutShort: false,
    untouched: leftAlone(runSpec, found),
  };
  const ahead = hostsAhead(runSpec, found);
  try {
    if (runSpec.playbook !== undefined && uplink.cancelled.aborted)
      throw new Failure(CANCELLED, 'it stopped before any host was changed');
    const problems = [...found.problems, ...ahead.problems, ...machineProblems(runSpec, found)];
    for (const { ip, check, severity, message } of problems)
      say('precheck', `${severity}: ${check}: ${message}`, ip);
    weigh(problems, settings, findings);
    const manifests = checkManifests(manifestFilesIn(runSpec.vars));
    if (manifests.problems.length > 0) throw new Failure('ManifestsInvalid', manifests.problems.join('; '));
    for (const file of manifests.files) say('info', `to be applied in the cluster: ${file}`);
    const of = { uplink, signal, findings };
    const loaded = await onSnapshots(of, (within, progress) => withSnapshot(settings, within, progress));
    if (runSpec.playbook !== undefined)
      await play(runSpec.playbook, loaded, uplink, signal, findings).finally(() => removeLoaded(settings));
    const snapshots = await onSnapshots(of, (within, progress) =>
      saveSnapshot(settings, found.connections, within, progress),
    );
    const kubeconfig = await kubeconfigFrom(settings, found).catch((error: unknown) => {
      // After a successful playbook, a missing kubeconfig is fetched later; only the auxiliary Job must deliver it.
      if (runSpec.playbook === undefined) throw error;
      say('info', `the kubeconfig could not be read: ${messageOf(error)}`);
      return undefined;
    });
    const hosts = hostReports(runSpec, findings, true);
    const bad = hosts.filter(({ ok }) => !ok).map(({ ip }) => ip);
    return {
      success: true,
      message: bad.length === 0 ? 'done' : `done, but for ${bad.join(', ')}`,
      hosts,
      steps: findings.steps,
      ...(kubeconfig === undefined ? {} : { kubeconfig }),
      ...(snapshots === undefined ? {} : { snapshots }),
    };
  } catch (error) {
    signal.throwIfAborted();
    const reason = error instanceof Failure ? error.reason : 'OperationFailed';
    const message = messageOf(error);
    say('info', `${reason}: ${message}`);
    const { steps, cutShort } = findings;
    const hostsAt = ahead.sequence === undefined ? {} : { hostsAt: Math.min(ahead.sequence, MAX_SEQUENCE) };
    const hosts = hostReports(runSpec, findings, false);
    return { success: false, reason, message, hosts, steps, cutShort, ...hostsAt };
  } finally {
    for (const connection of found.connections.values()) connection.close();
  }
}

const NOTHING: PrecheckResult = {
  problems: [],
  said: new Map(),
  knownHosts: '',
  connections: new Map(),
  sudoAsks: new Set(),
};

/** Returns the result, or `instead` as soon as the signal aborts, so that a cancellation does not wait for slow hosts. */
async function unlessCancelled<T>(result: Promise<T>, cancelled: AbortSignal, instead: T): Promise<T> {
  const over = new AbortController();
  const aborted = cancelled.aborted
    ? Promise.resolve()
    : once(cancelled, 'abort', { signal: over.signal }).catch(() => {});
  try {
    return await Promise.race([result, aborted.then(() => instead)]);
  } finally {
    over.abort();
  }
}

/** Returns the reason of the fence's rejection in the output of a task. */
const refusalIn = (message: string): string | undefined =>
  /(HostConflict|StaleRun|HostBusy):/.exec(message)?.[1];

/** Reasons of checks that have a specific one; for the others, the message explains the problem. */
const REASONS: Readonly<Record<string, string>> = {
  Unreachable: 'HostUnreachable',
  AuthenticationFailed: 'HostAuthenticationFailed',
  KeyInvalid: 'KeyInvalid',
  HostKeyChanged: 'HostKeyChanged',
  HostChanged: 'HostChanged',
  StaleRun: 'StaleRun',
  owner: 'HostConflict',
  [MACHINE_ON_RECORD]: 'HostConflict',
  [joined.name]: 'HostConflict',
};

/** Ends the run if a needed host has a problem; one message has all problems. */
function weigh(
  problems: readonly PrecheckProblem[],
  { runSpec }: Settings,
  { failures, untouched }: Findings,
): void {
  const errors = problems.filter(({ severity }) => severity === 'error');
  for (const { ip, message } of errors) failures.set(ip, message);
  const grave = errors.filter((problem) => isGrave(problem, runSpec, untouched));
  if (grave.length === 0) return;
  const first = grave[0]?.check ?? '';
  const reason = REASONS[first] ?? 'PrecheckFailed';
  throw new Failure(reason, grave.map(({ ip, message }) => `${ip}: ${message}`).join('; '));
}

async function play(
  playbook: string,
  settings: Settings,
  uplink: Uplink,
  signal: AbortSignal,
  findings: Findings,
): Promise<void> {
  const { runSpec, access } = settings;
  const { found, failures, untouched, played, versions } = findings;
  signal.throwIfAborted();
  for (const ip of untouched)
    if (!failures.has(ip)) {
      const message = `${ip} is not this cluster's by its owner file; it is left as it is`;
      uplink.send({ time: new Date().toISOString(), event: 'info', message });
    }
  const knownHosts = `${access.knownHosts}\n${found.knownHosts}`;
  const files = writePlaybookFiles(settings, knownHosts, untouched, found.sudoAsks);
  const reported = (message: string, host: string) =>
    uplink.send({ time: new Date().toISOString(), event: 'info', host, message });
  // A playbook has plays that a plan leaves out; they do nothing. The run of bootstrap has no steps.
  const planned = new Set(runSpec.steps.map(({ name }) => name));
  const isStep = (name: string) => planned.size === 0 || planned.has(name);
  const result = await runPlaybook(
    playbook,
    settings,
    files,
    (event) => {
      if (event.event === 'play' && event.play !== undefined && isStep(event.play)) uplink.step(event.play);
      uplink.send(event);
    },
    { signal, cancelled: uplink.cancelled, cutOff: cutOffOn(settings, knownHosts, reported) },
  );
  signal.throwIfAborted();
  findings.steps.push(...result.steps);
  findings.cutShort = result.cutShort;
  for (const [ip, message] of result.failed) failures.set(ip, message);
  for (const [ip, did] of result.did) played.set(ip, did);
  for (const [ip, seen] of result.versions) versions.set(ip, seen);
  if (uplink.cancelled.aborted && !result.complete)
    throw new Failure(CANCELLED, `it stopped at step "${result.play}"`);
  const leaves = new Set(
    runSpec.hosts.filter(({ action }) => action === 'leave').map(({ member: host }) => host.ip),
  );
  // A leaving host that fails does not stop the others; the controller records it as not clean.
  const others = [...result.failed.keys()].some((ip) => !leaves.has(ip));
  if (!result.complete || others)
    throw new Failure(refusalIn(result.message) ?? 'OperationFailed', result.message);
}

/** Works with a snapshot of etcd; a step of the run itself. */
async function onSnapshots<T>(
  { uplink, signal, findings }: { uplink: Uplink; signal: AbortSignal; findings: Findings },
  work: (signal: AbortSignal, progress: Progress) => Promise<T>,
): Promise<T> {
  const now = () => new Date().toISOString();
  try {
    return await work(AbortSignal.any([signal, uplink.cancelled]), {
      step: (name) => {
        findings.steps.push(name);
        uplink.step(name);
        uplink.send({ time: now(), event: 'play', play: name });
      },
      say: (message) => uplink.send({ time: now(), event: 'info', message }),
    });
  } catch (error) {
    signal.throwIfAborted();
    if (uplink.cancelled.aborted)
      throw new Failure(CANCELLED, `it stopped at step "${findings.steps.at(-1)}"`);
    throw new Failure('SnapshotFailed', messageOf(error));
  }
}

async function kubeconfigFrom({ runSpec }: Settings, found: PrecheckResult): Promise<string | undefined> {
  if (!runSpec.brings.includes('kubeconfig')) return undefined;
  const masters = runSpec.hosts.filter(({ member: host, action }) => isMaster(host) && action !== 'leave');
  const ready = await firstReady(masters, found.connections);
  if (!ready) throw new Failure('KubeconfigMissing', 'no control plane host answered');
  const { address, name } = runSpec.endpoint;
  // Without a balancer, the kubeconfig points at an API server that answers. Without an address, the endpoint's name
  // resolves for all clients.
  const own = masters.some(({ member: host }) => host.ip === address);
  return fetchKubeconfig(ready.connection, (own ? '' : address || name) || ready.ip, runSpec.cluster);
}
