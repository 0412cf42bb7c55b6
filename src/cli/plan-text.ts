import type { PlanAnswer } from '#rest/plan.ts';
import { type Flags, problemLines } from './failure.ts';
import { tableOf } from './output.ts';

const paceOf = (pace: PlanAnswer['steps'][number]['pace'], count: number): string => {
  if (count === 1) return '1 host';
  if (pace === 'all') return `${count} hosts at once`;
  return pace === 'one' ? `${count} hosts, one by one` : `${count} hosts, at most ${pace.atMost} at once`;
};

const versionText = ({ from, to }: NonNullable<PlanAnswer['kubeVersion']>): string =>
  from === undefined ? `Kubernetes ${to}` : `Kubernetes ${from} to ${to}`;

/** Returns a plan that is not refused as text: hosts, steps and warnings. */
export function planText(plan: PlanAnswer, flags: Flags = {}): string {
  const { operation, kubeVersion, hash, hosts, steps, hooks, release, warnings } = plan;
  const parts = [`Plan: ${operation}${kubeVersion ? `, ${versionText(kubeVersion)}` : ''}`];
  if (hosts.length > 0)
    parts.push(
      tableOf(
        ['HOST', 'NAME', 'DUTIES', 'ACTION'],
        hosts.map(({ ip, name, duties, action, reclaim }) => [
          ip,
          name,
          duties.join(', '),
          reclaim === undefined ? action : `${action}, after the remains of cluster ${reclaim} are wiped`,
        ]),
      ),
    );
  if (release.length > 0) parts.push(`Given back without a run: ${release.join(', ')}`);
  if (steps.length > 0)
    parts.push(
      [
        'Steps:',
        ...steps.map(
          ({ name, hosts: on, pace }, index) => `  ${index + 1}. ${name} (${paceOf(pace, on.length)})`,
        ),
      ].join('\n'),
    );
  if (hooks.length > 0)
    parts.push(
      [
        'Hooks:',
        ...hooks.map(({ name, configMap, key }) => `  ${name}: ConfigMap ${configMap}, ${key}`),
      ].join('\n'),
    );
  if (warnings.length > 0)
    parts.push(['Warnings:', ...problemLines(warnings, flags).map((line) => `  ${line}`)].join('\n'));
  parts.push(`Hash: ${hash}`);
  return parts.join('\n\n');
}
