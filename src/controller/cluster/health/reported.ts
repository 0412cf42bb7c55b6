import type { z } from 'zod';

/** One of ours about its own host has 1,000 characters at most; what is longer is read by nobody. */
export const MAX_CHARACTERS = 2048;

/**
 * What a host told in an annotation of its node's lease, not longer ago than `staleMs` by the API server's clock `now`;
 * undefined: nothing, or nothing of this shape. It is the host's own word.
 */
export function toldIn<T extends { at: string }>(
  annotation: unknown,
  schema: z.ZodType<T>,
  now: Date | undefined,
  staleMs: number,
  maxCharacters = MAX_CHARACTERS,
): T | undefined {
  if (typeof annotation !== 'string' || annotation.length > maxCharacters || !now) return undefined;
  const { success, data } = schema.safeParse(parsedJson(annotation));
  return success && now.getTime() - Date.parse(data.at) <= staleMs ? data : undefined;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
