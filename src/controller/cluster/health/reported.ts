import type { z } from 'zod';

/** A host's report about itself has at most 1,000 characters; a longer one is not read. */
export const MAX_CHARACTERS = 2048;

/**
 * Parses a report in an annotation of a node's lease, at most `staleMs` old by the API server's clock `now`. Undefined if
 * there is none, or if it does not match the schema. The host itself writes the report.
 */
export function reportedIn<T extends { at: string }>(
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
