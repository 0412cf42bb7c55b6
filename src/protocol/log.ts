import { z } from 'zod';

/** Limits of an attempt's log, which both ends of the wire keep. */

/** The most that is kept of one attempt. */
export const LOG_BYTES = 8 * 1024 * 1024;
/** ConfigMaps that take one attempt's log while it runs. */
export const MAX_PARTS = 4_000;
/** The size of one request, and of one part. */
export const CHUNK_BYTES = 128 * 1024;

/** Each part costs etcd some 1,000 bytes beside its text, so lines are gathered while nobody follows the log. */
export const FOLLOWED_FLUSH_MS = 1_000;
export const FLUSH_MS = 5_000;
/** Lines are sent as soon as there are so many bytes of them. */
export const FLUSH_BYTES = 32 * 1024;
/** The longest that lines are gathered, however long a run takes. */
export const LONGEST_FLUSH_MS = 30_000;

/** A run that has nothing to send asks all the same, this often: the answer may tell it to stop. */
export const ASK_MS = 2_000;

/** The answer to a chunk, or to a question without one. */
export const logAnswerSchema = z.object({
  /** The offset from which to go on. */
  next: z.number(),
  /** The run was cancelled: it starts nothing more, and reports. */
  stop: z.boolean().optional(),
  /** Somebody follows the log: lines are sent each second. */
  followed: z.boolean().optional(),
});
export type LogAnswer = z.infer<typeof logAnswerSchema>;
