import { z } from 'zod';
import { canonicalIp } from '#api/host.ts';
import type { MemberSeen } from './judge/seen.ts';
import { toldIn } from './reported.ts';

/** How members of etcd on hosts of their own, or the one beside it, answer a control plane, in an annotation of its node's lease (ansible/files/watch). */
export const MEMBERS_ANNOTATION = 'ecs.yun.com/etcd';
/** It is told again each minute, and at each change. */
const STALE_MS = 3 * 60_000;
const HEALTHY = 'healthy';

const membersSchema = z.object({
  at: z.iso.datetime(),
  members: z.array(z.tuple([z.string().max(45), z.string().regex(/^[A-Za-z ]{1,60}$/)])).max(20),
  leader: z.string().max(45).optional(),
});

/** What a control plane told lately, by the API server's clock; undefined: nothing, or nothing that can be understood. */
export function membersIn(annotation: unknown, now: Date | undefined): MemberSeen[] | undefined {
  const told = toldIn(annotation, membersSchema, now, STALE_MS);
  return told?.members.flatMap(([address, says]) => {
    const ip = canonicalIp(address);
    if (ip === undefined) return [];
    return [{ ip, healthy: says === HEALTHY, says, ...(address === told.leader ? { leads: true } : {}) }];
  });
}
