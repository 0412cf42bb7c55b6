/** Returns the message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns the message of any thrown value, and of its cause, which says more in errors of networks. */
export function causeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error ? `${messageOf(error)}: ${cause.message}` : messageOf(error);
}

/** Mistake of the program's caller: printed as one line, without a stack. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** Problem of one field of an input: its path, its value, the reason, and the valid value. */
export interface Problem {
  /** Path in the form of Kubernetes: `spec.cluster.masterList[0].ip`. */
  field: string;
  /** Invalid value; absent if it is secret or missing. */
  value?: unknown;
  reason: string;
}

/** Maximum number of problems named for one input; a client with more has a systematic mistake. */
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
