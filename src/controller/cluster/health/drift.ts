import { z } from 'zod';
import type { DriftSeen } from './judge/seen.ts';
import { toldIn } from './reported.ts';

/** What a host tells of itself, in an annotation of its node's lease (ansible/files/watch). */
export const DRIFT_ANNOTATION = 'ecs.yun.com/drift';
/** It is told again every 10 minutes, and at each change. */
const STALE_MS = 25 * 60_000;

const TEXT = /^[ -~]{1,160}$/;
const driftSchema = z.object({
  at: z.iso.datetime(),
  count: z.int().min(0).max(100_000),
  things: z.array(z.tuple([z.string(), z.string().regex(TEXT), z.string().regex(TEXT)])).max(20),
});

/**
 * What a host told lately, by the API server's clock; undefined: nothing, or nothing that can be understood. The text is
 * the host's own word, and goes into a message: whatever is no plain text is not taken.
 */
export function driftIn(annotation: unknown, now: Date | undefined): DriftSeen | undefined {
  const told = toldIn(annotation, driftSchema, now, STALE_MS);
  if (!told) return undefined;
  const { at, count, things } = told;
  const texts = things.map(([kind, thing, how]) => `${kind === 'unit' ? 'unit ' : ''}${thing} ${how}`);
  return { atMs: Date.parse(at), count: Math.max(count, texts.length), things: texts };
}
