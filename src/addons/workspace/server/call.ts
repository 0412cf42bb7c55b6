import type { Permission } from '#access/permissions.ts';
import type { ObjectKey } from '#api/meta.ts';

/** One call of an authenticated person. */
export interface Call {
  /** Of no other call. */
  id: string;
  message: unknown;
  /** Aborts with the CallError that the call then ends with: its deadline, its caller's cancellation, the server's end. */
  signal: AbortSignal;
  /** When the signal aborts at the latest, by the clock's wall time. */
  endsAtMs: number;
  allow(verb: Permission['verb'], key: ObjectKey): Promise<void>;
}
