import { messageOf } from '#base/errors.ts';
import { connect, type SshConnection, SshError, type SshTarget } from '#ssh/connection.ts';
import type { Check, CheckedHost, Limits } from './check.ts';
import { factsScript, type HostFacts, parseFacts } from './facts.ts';

const FACTS_TIMEOUT_MS = 30_000;

/** A host to look at, and how to get there. */
export interface PrecheckHost extends Omit<CheckedHost, 'facts'> {
  target: SshTarget;
}

export interface PrecheckProblem {
  ip: string;
  check: string;
  severity: 'warning' | 'error';
  message: string;
}

export interface PrecheckResult {
  problems: PrecheckProblem[];
  /** Lines of known_hosts, one a host that answered. */
  knownHosts: string;
  /** What the hosts that answered said of themselves, by IP. */
  facts: Map<string, HostFacts>;
  /** Open connections of the hosts that answered, by IP; the caller closes them. */
  connections: Map<string, SshConnection>;
}

/**
 * Looks at every host at once and reports every problem at once, as kubeadm's preflight does. Changes nothing on any
 * host. Never rejects for a host's sake: one that cannot be reached is a problem of its own.
 */
export async function precheck(
  hosts: readonly PrecheckHost[],
  checks: readonly Check[],
  options: { limits: Limits; artifactUrl?: string | undefined },
): Promise<PrecheckResult> {
  const connections = new Map<string, SshConnection>();
  const problems: PrecheckProblem[] = [];
  const script = factsScript(options.artifactUrl);
  const looked = await Promise.all(
    hosts.map(async ({ target, ...host }) => {
      try {
        const connection = await connect(target);
        connections.set(host.ip, connection);
        const askedAtMs = Date.now();
        const { stdout } = await connection.run('/bin/sh -s', { input: script, timeoutMs: FACTS_TIMEOUT_MS });
        return [{ host: { ...host, facts: parseFacts(stdout) }, askedAtMs }];
      } catch (error) {
        const check = error instanceof SshError ? error.reason : 'Unreachable';
        problems.push({ ip: host.ip, check, severity: 'error', message: messageOf(error) });
        return [];
      }
    }),
  );
  const reached = looked.flat();
  const all = reached.map(({ host }) => host);
  for (const { host, askedAtMs } of reached) {
    for (const { name, check } of checks) {
      const { warnings, errors } = check({ host, all, limits: options.limits, askedAtMs });
      const tell = (severity: PrecheckProblem['severity']) => (message: string) =>
        problems.push({ ip: host.ip, check: name, severity, message });
      warnings.forEach(tell('warning'));
      errors.forEach(tell('error'));
    }
  }
  const knownHosts = [...connections.values()].map(({ hostKeyLine }) => `${hostKeyLine}\n`).join('');
  const facts = new Map(all.map((host) => [host.ip, host.facts]));
  return { problems, facts, knownHosts, connections };
}
