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
