import type { HookTime } from '#api/hooks.ts';
import type { OperationName } from '#api/operation-values.ts';
import type { PlanStatus } from '#api/plan-status.ts';
import { canonicalJson, sha256 } from '#base/canonical.ts';
import { drains, upgradesWorkers } from './drain.ts';
import { hookStep } from './hooks.ts';
import type { Plan } from './plan-for.ts';
import { specHashOf } from './spec-hash.ts';

/** The plan hash, by which a user approves a plan: if the plan changes before it begins, nothing begins. */

const byText = (texts: readonly string[]): string[] => [...texts].sort();

/**
 * Returns the plan hash. It changes if anything that the plan does changes, or if another operation was accepted after
 * `after`, the sequence of the last one. The order of lists and the SSH details of hosts do not change it.
 */
export function planHash(
  operation: OperationName,
  {
    hosts,
    release,
    steps,
    hooks,
    target,
    snapshot,
  }: Pick<Plan, 'hosts' | 'release' | 'steps' | 'hooks' | 'target' | 'snapshot'>,
  after: number,
): string {
  const all = hosts.map(({ member: { port: _port, user: _user, duties, ...host }, ...planned }) => ({
    ...planned,
    member: { ...host, duties: byText(duties) },
  }));
  return sha256(
    canonicalJson({
      operation,
      after,
      spec: specHashOf(target),
      hosts: all.sort((a, b) => (a.member.ip < b.member.ip ? -1 : 1)),
      release: byText(release),
      steps: steps.map((step) => ({ ...step, hosts: byText(step.hosts) })),
      ...(hooks.length > 0 ? { hooks } : {}),
      ...(snapshot === undefined ? {} : { snapshot }),
      ...(target.cluster.drain && drains(steps, target) ? { drain: target.cluster.drain } : {}),
      ...(target.cluster.upgrade && upgradesWorkers(steps) ? { upgrade: target.cluster.upgrade } : {}),
    }),
  );
}

/** Returns the plan with the machines that a dry run found at the addresses of joining hosts. */
export const withSeen = <P extends Pick<Plan, 'hosts'>>(plan: P, seen: PlanStatus['seen'] = {}): P => ({
  ...plan,
  hosts: plan.hosts.map((host) => {
    const machine = host.action === 'join' ? seen[host.member.ip] : undefined;
    return machine === undefined ? host : { ...host, seen: machine };
  }),
});

/** The parts of a plan that stay small however many hosts it has. */
export interface PlanOutline {
  /** Names of the steps in order, including hooks before and after them. */
  steps: string[];
  /** Number of hosts by action: join, change, leave, stay. */
  hosts: Record<string, number>;
  /** The actions of hosts that do not stay as they are, at most 100. */
  changes: { ip: string; name: string; action: string }[];
  /** Sequence of the operation that was accepted last before this plan. */
  after: number;
}

const MAX_CHANGES = 100;

export function outlineOf(
  { hosts, steps, hooks }: Pick<Plan, 'hosts' | 'steps' | 'hooks'>,
  after: number,
): PlanOutline {
  const stepsAt = (time: HookTime) => hooks.filter((hook) => hook.time === time).map(hookStep);
  const counts: Record<string, number> = {};
  for (const { action } of hosts) counts[action] = (counts[action] ?? 0) + 1;
  return {
    steps: [...stepsAt('pre'), ...steps.map(({ name }) => name), ...stepsAt('post')],
    hosts: counts,
    changes: hosts
      .filter(({ action }) => action !== 'stay')
      .slice(0, MAX_CHANGES)
      .map(({ member: { ip, name }, action }) => ({ ip, name, action })),
    after,
  };
}

/** Returns what a plan would do, in a sentence. */
const describeOutline = ({ changes, steps }: PlanOutline): string =>
  [
    changes.map(({ ip, action }) => `${ip} ${action}`).join(', ') || 'no host changes',
    steps.length === 0 ? 'no steps' : `steps ${steps.map((name) => `"${name}"`).join(', ')}`,
  ].join('; ');

/** Describes how a plan differs from the approved one; never empty. */
export function changeOfPlan(agreed: PlanOutline, now: PlanOutline): string {
  const [before, after] = [agreed, now].map(
    ({ changes }) => new Map(changes.map(({ ip, action }) => [ip, action])),
  );
  const said: string[] = [];
  for (const ip of new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])) {
    const [was, is] = [before?.get(ip), after?.get(ip)];
    if (was !== is) said.push(`host ${ip}: ${is ?? 'no change'}, was ${was ?? 'no change'}`);
  }
  for (const action of new Set([...Object.keys(agreed.hosts), ...Object.keys(now.hosts)])) {
    const [was, is] = [agreed.hosts[action] ?? 0, now.hosts[action] ?? 0];
    // If the outlines do not list every host, only the counts show the difference.
    if (was !== is && said.length === 0) said.push(`hosts that ${action}: ${is}, were ${was}`);
  }
  for (const name of now.steps) if (!agreed.steps.includes(name)) said.push(`step "${name}" came`);
  for (const name of agreed.steps) if (!now.steps.includes(name)) said.push(`step "${name}" went`);
  if (now.after !== agreed.after) said.push(`operation ${now.after} was accepted since`);
  return said.length === 0 ? 'other facts of its hosts or of the spec' : said.join('; ');
}

/** Returns why an approved plan is no longer valid; `known`: the approved plan, if it is known. */
export const planChanged = (known: PlanOutline | undefined, now: PlanOutline): string =>
  known
    ? `the plan changed after you approved it: ${changeOfPlan(known, now)}`
    : `the plan differs from the one that you approved, and now does this: ${describeOutline(now)}`;
