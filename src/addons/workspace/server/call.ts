import type { Permission } from '#access/permissions.ts';
import type { ObjectKey } from '#api/meta.ts';

/** Call of an authenticated user. */
export interface Call {
  /** Unique id of the call. */
  id: string;
  message: unknown;
  /** Aborts with the CallError that ends the call: at its deadline, upon cancellation, when the server stops. */
  signal: AbortSignal;
  /** Latest time at which the signal aborts, by the clock's wall time. */
  endsAtMs: number;
  allow(verb: Permission['verb'], key: ObjectKey): Promise<void>;
}
