import { approvePlan } from '#rest/steering.ts';
import { type Cluster, clusterNamed } from './clusters.ts';
import { CommandFailure, EXIT } from './failure.ts';
import type { Io } from './io.ts';
import { tableOf } from './output.ts';
import { type ConnectionOptions, withSession } from './session.ts';

type Plan = NonNullable<Cluster['status']['plan']>;

const textOf = ({ operation, result, message, hash, steps, changes, warnings, hosts }: Plan): string => {
  const counts = Object.entries(hosts).map(([action, count]) => `${count} ${action}`);
  return [
    `Plan: ${operation}, ${result}${message === '' ? '' : `: ${message}`}`,
    ...(counts.length > 0 ? [`Hosts: ${counts.join(', ')}`] : []),
    ...(changes.length > 0
      ? [
          tableOf(
            ['HOST', 'NAME', 'ACTION'],
            changes.map(({ ip, name, action }) => [ip, name, action]),
          ),
        ]
      : []),
    ['Steps:', ...steps.map((name, index) => `  ${index + 1}. ${name}`)].join('\n'),
    ...(warnings === undefined ? [] : [`Warnings: ${warnings}`]),
    `Hash: ${hash}`,
  ].join('\n\n');
};

/** Returns the plan of a dry run. Throws CommandFailure if none waits. */
function planOf({ metadata: { name }, status }: Cluster): Plan {
  if (status.plan) return status.plan;
  throw new CommandFailure(
    `cluster ${name} has no plan that waits; --dry-run of a command shows the plan of a new request`,
    EXIT.refused,
  );
}

/** Prints the plan of a dry run by annotation. */
export function showPlan(name: string, options: ConnectionOptions, io: Io): Promise<void> {
  return withSession(options, async (session) => {
    const { cluster } = await clusterNamed(session, name);
    io.print(textOf(planOf(cluster)));
  });
}

/** Approves the plan of a dry run, after the user has seen it. */
export function approve(
  name: string,
  { hash, yes, ...options }: ConnectionOptions & { hash?: string | undefined; yes: boolean },
  io: Io,
): Promise<void> {
  return withSession(options, async (session) => {
    const { cluster, address } = await clusterNamed(session, name);
    const plan = planOf(cluster);
    if (hash === undefined && !yes) {
      io.print(textOf(plan));
      if (!io.isTerminal)
        throw new CommandFailure('repeat the command with --hash or --yes to approve this plan', EXIT.usage);
      const answer = await io.ask(`Carry out this plan on ${name}? [y/N] `);
      if (!/^y(es)?$/i.test(answer.trim())) {
        io.note('Nothing was changed.');
        return;
      }
    }
    const { operation } = await session.call(approvePlan, { ...address, body: { plan: hash ?? plan.hash } });
    io.print(`cluster ${name}: approved (${operation})`);
  });
}
