import { DEFAULTS } from '#api/kubernetes-cluster.ts';
import { messageOf } from '#base/errors.ts';
import { answerIncomplete } from '#ssh/answer-incomplete.ts';
import type { SshTarget } from '#ssh/command.ts';
import { connect, type SshConnection } from '#ssh/connection.ts';
import { SshError } from '#ssh/ssh-error.ts';
import type { AskedHost, Check, CheckedHost, Limits, ScriptInput } from './check.ts';
import { type Said, said } from './said.ts';
import { scriptOf, variablesOf } from './script.ts';

/** Limit for the answer of a connected host. */
export const ANSWER_TIMEOUT_MS = 30_000;
/** Number of hosts checked in parallel, including unreachable ones; handshakes have a separate limit. */
const AT_ONCE = 256;

/** Maximum length of a message, which may quote long answers of a host. */
const MAX_MESSAGE = 2_000;
const bounded = (message: string): string =>
  message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)} …` : message;

/** Host to check, and its SSH target. */
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
  /** Networks of the pods and the Services in kubeadm's form: one, or one of each family with a comma. */
  networks?: readonly string[];
  /** Pod network, named as in `addons.network`; flannel by default. */
  podNetwork?: string | undefined;
  /** Addresses whose connections stay open; the caller closes them. */
  keep?: ReadonlySet<string>;
}

export interface PrecheckResult {
  problems: PrecheckProblem[];
  /** Lines of known_hosts, one for each host that answered. */
  knownHosts: string;
  /** Answers of hosts, by IP. */
  said: Map<string, Said>;
  /** Open connections to hosts in `keep` that answered, by IP. */
  connections: Map<string, SshConnection>;
  /** Addresses of hosts whose sudo asks for the user's password. */
  sudoAsks: ReadonlySet<string>;
}

interface Answer {
  host: CheckedHost;
  askedAtMs: number;
  answeredAtMs: number;
  hostKeyLine: string;
}

/**
 * Checks every host, 256 at a time, and reports all problems at once, as kubeadm's preflight does. Changes nothing on any
 * host. Never rejects because of a host: an unreachable host is a problem in the result.
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

  async function checkHost({ target, ...host }: PrecheckHost): Promise<Answer | undefined> {
    let connection: SshConnection | undefined;
    try {
      connection = await connect(target);
      const askedAtMs = Date.now();
      const input = variablesOf(checks, host, hosts) + script;
      const answer = await connection.run('/bin/sh -s', { input, timeoutMs: ANSWER_TIMEOUT_MS });
      // The script always ends with 0; a killed one leaves answers out, and checks would misjudge the host.
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
    for (const [index, host] of queue) answers[index] = await checkHost(host);
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work));

  const reached = answers.filter((answer) => answer !== undefined);
  const all = reached.map(({ host }) => host);
  const networks = (options.networks ?? []).flatMap((text) => text.split(','));
  for (const { host, askedAtMs, answeredAtMs } of reached) {
    const asked = { podNetwork: options.podNetwork ?? DEFAULTS.network, askedAtMs, answeredAtMs };
    for (const { name, check } of checks) {
      const { warnings, errors } = check({ host, all, limits: options.limits, networks, ...asked });
      const report = (severity: PrecheckProblem['severity']) => (message: string) =>
        problems.push({ ip: host.ip, check: name, severity, message: bounded(message) });
      warnings.forEach(report('warning'));
      errors.forEach(report('error'));
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
