import { HOSTS, type HostRecord } from '#api/host-record.ts';
import type { Problem } from '#base/errors.ts';
import type { Operation } from '#operations/operation.ts';
import type { Plan } from '#operations/plan.ts';
import type { PlanAnswer } from '#rest/plan.ts';
import type { Client } from '#runtime/client/client.ts';
import { asSpelledByRest } from './problems.ts';

/** A plan as REST answers it. */
export const planAnswer = (
  { name }: Operation,
  { hosts, release, steps, refusals, warnings }: Plan,
  more: readonly Problem[] = [],
): PlanAnswer => ({
  operation: name,
  hosts: hosts.map(({ member, action, reclaim }) => ({
    ip: member.ip,
    name: member.name,
    duties: member.duties,
    action,
    ...(reclaim === undefined ? {} : { reclaim }),
  })),
  release: [...release],
  steps: [...steps],
  refusals: [...refusals, ...more].map(asSpelledByRest),
  warnings: warnings.map(asSpelledByRest),
});

/** Hosts of a plan that another cluster holds; whose, whoever asks may not be allowed to know. */
export async function heldByOthers(
  client: Client,
  namespace: string,
  { hosts }: Plan,
  clusterId: string | undefined,
): Promise<Problem[]> {
  const joining = new Set(hosts.filter(({ action }) => action === 'join').map(({ member }) => member.ip));
  if (joining.size === 0) return [];
  const { items } = await client.list<HostRecord>(HOSTS, { namespace });
  return items
    .filter(({ spec, status }) => {
      const other = spec.clusterId !== clusterId && status?.state !== 'Unclean';
      return other && joining.has(spec.ip);
    })
    .map(({ spec }) => ({
      field: 'hosts',
      value: spec.ip,
      reason: `has ${spec.ip}, which belongs to another cluster`,
    }));
}
