import type { HookTime } from '#api/hooks.ts';
import type { PlanStatus } from '#api/plan-status.ts';
import type { OperationName } from '#api/words.ts';
import { canonicalJson, sha256 } from '#base/canonical.ts';
import { drains } from './drain.ts';
import { hookStep } from './hooks.ts';
import type { Plan } from './plan-for.ts';
import { specHashOf } from './spec-hash.ts';

/** A plan that somebody agrees to by its hash: if by then it is another, nothing begins. */

const byText = (texts: readonly string[]): string[] => [...texts].sort();

/**
 * The hash of a plan. It is another as soon as anything that it does is another, or another operation was accepted after
 * `after`, the sequence of the last one; not by the order of lists, nor by how hosts are reached.
 */
export function planHash(
  operation: OperationName,
  { hosts, release, steps, hooks, target }: Pick<Plan, 'hosts' | 'release' | 'steps' | 'hooks' | 'target'>,
  after: number,
): string {
  const all = hosts.map(({ member: { port: _port, user: _user, duties, ...member }, ...planned }) => ({
    ...planned,
    member: { ...member, duties: byText(duties) },
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
      ...(target.cluster.drain && drains(steps) ? { drain: target.cluster.drain } : {}),
    }),
  );
}

/** A plan as it was made once joining hosts were looked at: which machine was seen at each address. */
export const withSeen = <P extends Pick<Plan, 'hosts'>>(plan: P, seen: PlanStatus['seen'] = {}): P => ({
  ...plan,
  hosts: plan.hosts.map((host) => {
    const machine = host.action === 'join' ? seen[host.member.ip] : undefined;
    return machine === undefined ? host : { ...host, seen: machine };
  }),
});

/** The parts of a plan that stay small however many hosts it has. */
export interface PlanOutline {
  /** Names of steps in order, hooks before and after them. */
  steps: string[];
  /** How many hosts join, change, leave or stay. */
  hosts: Record<string, number>;
  /** What becomes of hosts that do not stay as they are, at most 100. */
  changes: { ip: string; name: string; action: string }[];
  /** Sequence of the operation that was accepted last before it. */
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

/** What a plan would do, in a sentence. */
const outlineInWords = ({ changes, steps }: PlanOutline): string =>
  [
    changes.map(({ ip, action }) => `${ip} ${action}`).join(', ') || 'no host changes',
    steps.length === 0 ? 'no steps' : `steps ${steps.map((name) => `"${name}"`).join(', ')}`,
  ].join('; ');

/** How a plan differs from the one that was agreed to, in words; never empty. */
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
    // Where not every host is named, numbers tell what names do not.
    if (was !== is && said.length === 0) said.push(`hosts that ${action}: ${is}, were ${was}`);
  }
  for (const name of now.steps) if (!agreed.steps.includes(name)) said.push(`step "${name}" came`);
  for (const name of agreed.steps) if (!now.steps.includes(name)) said.push(`step "${name}" went`);
  if (now.after !== agreed.after) said.push(`operation ${now.after} was accepted since`);
  return said.length === 0 ? 'other facts of its hosts or of the spec' : said.join('; ');
}

/** Why a plan that was agreed to does not hold; `known`: what is known of that plan. */
export const planChanged = (known: PlanOutline | undefined, now: PlanOutline): string =>
  known
    ? `the plan is another than the one that was agreed to: ${changeOfPlan(known, now)}`
    : `the plan is another than the one that was agreed to, and now does this: ${outlineInWords(now)}`;
