import { z } from 'zod';

/** Limits of an attempt's log, which both ends of the wire keep. */

/** The size of one ConfigMap; etcd takes 1.5 MiB, and each append writes all of it. */
export const PART_BYTES = 512 * 1024;
/** ConfigMaps of one attempt. */
export const PARTS = 16;
/** The most that is kept of one attempt. */
export const LOG_BYTES = PART_BYTES * PARTS;
/** The size of one request. */
export const CHUNK_BYTES = 128 * 1024;

/** A run that has nothing to send asks all the same, this often: the answer may tell it to stop. */
export const ASK_MS = 2_000;

/** The answer to a chunk, or to a question without one. */
export const logAnswerSchema = z.object({
  /** The offset from which to go on. */
  next: z.number(),
  /** The run was cancelled: it starts nothing more, and reports. */
  stop: z.boolean().optional(),
});
export type LogAnswer = z.infer<typeof logAnswerSchema>;
