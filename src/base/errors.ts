/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A mistake of the person who called the program: printed as one line, without a stack. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** A problem of one field of an input: its path, its value, the reason, and what to write instead. */
export interface Problem {
  /** Path as Kubernetes spells it: `spec.cluster.masterList[0].ip`. */
  field: string;
  /** The offending value; left out where it is secret or absent. */
  value?: unknown;
  reason: string;
}

/** How many problems of one input are named; a client that sent more has a systematic mistake. */
export const MAX_PROBLEMS = 50;

/**
 * Joins the texts of the first 50 problems, and counts the others.
 * @example sentenceOf([a, b], ({ field, reason }) => `${field} ${reason}`) // 'ip is required; name is required'
 */
export function sentenceOf(
  problems: readonly Problem[],
  textOf: (problem: Problem) => string,
  total: number = problems.length,
): string {
  const texts = problems.slice(0, MAX_PROBLEMS).map(textOf);
  const more = total - texts.length;
  return [...texts, ...(more > 0 ? [`and ${more} more problems`] : [])].join('; ');
}
