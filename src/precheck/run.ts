import { DEFAULTS } from '#api/kubernetes-cluster.ts';
import { messageOf } from '#base/errors.ts';
import { answerIncomplete } from '#ssh/answer-incomplete.ts';
import type { SshTarget } from '#ssh/command.ts';
import { connect, type SshConnection } from '#ssh/connection.ts';
import { SshError } from '#ssh/ssh-error.ts';
import type { AskedHost, Check, CheckedHost, Limits, ScriptInput } from './check.ts';
import { type Said, said } from './said.ts';
import { scriptOf, variablesOf } from './script.ts';

/** For the answer of a host that one is connected with. */
export const ANSWER_TIMEOUT_MS = 30_000;
/** Hosts looked at together, those that are away included; handshakes have a bound of their own. */
const AT_ONCE = 256;

/** Messages quote what a host said, and that may be long. */
const MAX_MESSAGE = 2_000;
const bounded = (message: string): string =>
  message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)} …` : message;

/** A host to look at, and how to get there. */
export interface PrecheckHost extends AskedHost {
  target: SshTarget;
}

export interface PrecheckProblem {
  ip: string;
  check: string;
  severity: 'warning' | 'error';
  message: string;
}

export interface PrecheckOptions extends ScriptInput {
  limits: Limits;
  /** Networks of the pods and the Services, each as kubeadm spells it: one, or one of each family with a comma. */
  networks?: readonly string[];
  /** The pod network, as `addons.network` names it; flannel by default. */
  podNetwork?: string | undefined;
  /** Addresses whose connections stay open; the caller closes them. */
  keep?: ReadonlySet<string>;
}

export interface PrecheckResult {
  problems: PrecheckProblem[];
  /** Lines of known_hosts, one a host that answered. */
  knownHosts: string;
  /** What the hosts that answered said of themselves, by IP. */
  said: Map<string, Said>;
  /** Open connections of the hosts that `keep` named and that answered, by IP. */
  connections: Map<string, SshConnection>;
  /** Addresses of those on which sudo asks for the user's password. */
  sudoAsks: ReadonlySet<string>;
}

interface Answer {
  host: CheckedHost;
  askedAtMs: number;
  answeredAtMs: number;
  hostKeyLine: string;
}

/**
 * Looks at every host, 256 at a time, and reports every problem at once, as kubeadm's preflight does. Changes nothing
 * on any host. Never rejects for a host's sake: one that cannot be reached is a problem of its own.
 */
export async function precheck(
  hosts: readonly PrecheckHost[],
  checks: readonly Check[],
  options: PrecheckOptions,
): Promise<PrecheckResult> {
  const connections = new Map<string, SshConnection>();
  const sudoAsks = new Set<string>();
  const problems: PrecheckProblem[] = [];
  const script = scriptOf(checks, options);
  const answers: (Answer | undefined)[] = hosts.map(() => undefined);

  async function look({ target, ...host }: PrecheckHost): Promise<Answer | undefined> {
    let connection: SshConnection | undefined;
    try {
      connection = await connect(target);
      const askedAtMs = Date.now();
      const input = variablesOf(checks, host, hosts) + script;
      const answer = await connection.run('/bin/sh -s', { input, timeoutMs: ANSWER_TIMEOUT_MS });
      // The script ends with 0, whatever the host lacks; a killed one leaves answers out, and checks would misjudge them.
      if (answer.code !== 0) throw answerIncomplete(target, answer);
      const answeredAtMs = Date.now();
      const { hostKeyLine } = connection;
      if (await connection.sudoAsks()) sudoAsks.add(host.ip);
      if (options.keep?.has(host.ip)) {
        connections.set(host.ip, connection);
        connection = undefined;
      }
      return { host: { ...host, said: said(answer.stdout) }, askedAtMs, answeredAtMs, hostKeyLine };
    } catch (error) {
      const check = error instanceof SshError ? error.reason : 'Unreachable';
      problems.push({ ip: host.ip, check, severity: 'error', message: messageOf(error) });
      return undefined;
    } finally {
      connection?.close();
    }
  }

  const queue = hosts.entries();
  async function work(): Promise<void> {
    for (const [index, host] of queue) answers[index] = await look(host);
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work));

  const reached = answers.filter((answer) => answer !== undefined);
  const all = reached.map(({ host }) => host);
  const networks = (options.networks ?? []).flatMap((text) => text.split(','));
  for (const { host, askedAtMs, answeredAtMs } of reached) {
    const asked = { podNetwork: options.podNetwork ?? DEFAULTS.network, askedAtMs, answeredAtMs };
    for (const { name, check } of checks) {
      const { warnings, errors } = check({ host, all, limits: options.limits, networks, ...asked });
      const tell = (severity: PrecheckProblem['severity']) => (message: string) =>
        problems.push({ ip: host.ip, check: name, severity, message: bounded(message) });
      warnings.forEach(tell('warning'));
      errors.forEach(tell('error'));
    }
  }
  return {
    problems,
    said: new Map(all.map((host) => [host.ip, host.said])),
    knownHosts: reached.map(({ hostKeyLine }) => `${hostKeyLine}\n`).join(''),
    connections,
    sudoAsks,
  };
}
