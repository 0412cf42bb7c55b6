import { z } from 'zod';
import { canonicalIp } from '#api/host.ts';
import type { MemberSeen } from './judge/seen.ts';
import { reportedIn } from './reported.ts';

/**
 * The report of a control plane about etcd members, external or its own, in an annotation of its node's lease
 * (ansible/files/watch).
 */
export const MEMBERS_ANNOTATION = 'ecs.yun.com/etcd';
/** The report is repeated each minute, and at each change. */
const STALE_MS = 3 * 60_000;
const HEALTHY = 'healthy';

const membersSchema = z.object({
  at: z.iso.datetime(),
  members: z.array(z.tuple([z.string().max(45), z.string().regex(/^[A-Za-z ]{1,60}$/)])).max(20),
  leader: z.string().max(45).optional(),
});

/**
 * Returns a control plane's recent report, by the API server's clock; undefined if there is none, or none that can be
 * parsed.
 */
export function membersIn(annotation: unknown, now: Date | undefined): MemberSeen[] | undefined {
  const reported = reportedIn(annotation, membersSchema, now, STALE_MS);
  return reported?.members.flatMap(([address, says]) => {
    const ip = canonicalIp(address);
    if (ip === undefined) return [];
    return [
      { ip, healthy: says === HEALTHY, says, ...(address === reported.leader ? { isLeader: true } : {}) },
    ];
  });
}
