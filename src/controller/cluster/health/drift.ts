import { z } from 'zod';
import type { DriftSeen } from './judge/seen.ts';
import { reportedIn } from './reported.ts';

/** The drift report of a host, in an annotation of its node's lease (ansible/files/watch). */
export const DRIFT_ANNOTATION = 'ecs.yun.com/drift';
/** The report is repeated every 10 minutes, and at each change. */
const STALE_MS = 25 * 60_000;

const TEXT = /^[ -~]{1,160}$/;
/** A certificate on a host: when it ends, and its file. */
const endingSchema = z
  .tuple([
    z.iso.datetime(),
    z.string().regex(/^\/(etc\/kubernetes|etc\/matryoshka|var\/lib\/kubelet)\/[ -~]{1,160}$/),
  ])
  .transform(([ends, file]) => ({ ends: new Date(ends), file }));
const driftSchema = z.object({
  at: z.iso.datetime(),
  count: z.int().min(0).max(100_000),
  things: z.array(z.tuple([z.string(), z.string().regex(TEXT), z.string().regex(TEXT)])).max(20),
  /** The certificate, and the authority, on the host that ends first. Absent without openssl. */
  certificate: endingSchema.optional(),
  authority: endingSchema.optional(),
});

/**
 * Returns a host's recent report, by the API server's clock; undefined if there is none, or none that can be parsed. The
 * host writes the text and it goes into a message, so only printable ASCII is accepted.
 */
export function driftIn(annotation: unknown, now: Date | undefined): DriftSeen | undefined {
  const reported = reportedIn(annotation, driftSchema, now, STALE_MS);
  if (!reported) return undefined;
  const { at, count, things, certificate, authority } = reported;
  const texts = things.map(([kind, thing, how]) => `${kind === 'unit' ? 'unit ' : ''}${thing} ${how}`);
  return {
    atMs: Date.parse(at),
    count: Math.max(count, texts.length),
    things: texts,
    ...(certificate ? { certificate } : {}),
    ...(authority ? { authority } : {}),
  };
}
