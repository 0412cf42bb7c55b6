import { z } from 'zod';

/** Limits of an attempt's log, which server and Job both apply. */

/** Most bytes that are stored of one attempt. */
export const LOG_BYTES = 8 * 1024 * 1024;
/** Most ConfigMaps of one attempt's log while it runs. */
export const MAX_PARTS = 4_000;
/** Most bytes of one request, and of one part. */
export const CHUNK_BYTES = 128 * 1024;

/** Each part costs etcd some 1,000 bytes beside its text, so lines are gathered for longer if no client follows the log. */
export const FOLLOWED_FLUSH_MS = 1_000;
export const FLUSH_MS = 5_000;
/** Lines are sent as soon as they have this many bytes. */
export const FLUSH_BYTES = 32 * 1024;
/** The longest time that lines are gathered, however long a run takes. */
export const LONGEST_FLUSH_MS = 30_000;

/** Interval in which a run without anything to send asks all the same: the answer may notify it to stop. */
export const ASK_MS = 2_000;

/** The answer to a chunk, or to a request without one. */
export const logAnswerSchema = z.object({
  /** The offset to continue from. */
  next: z.number(),
  /** The run was cancelled: it starts nothing more, and reports. */
  stop: z.boolean().optional(),
  /** A client follows the log: lines are sent each second. */
  followed: z.boolean().optional(),
});
export type LogAnswer = z.infer<typeof logAnswerSchema>;
