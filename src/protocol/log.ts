/** Limits of an attempt's log, which both ends of the wire keep. */

/** Of one ConfigMap; etcd takes 1.5 MiB, and each append writes the whole of it. */
export const PART_BYTES = 512 * 1024;
/** Of one attempt. */
export const PARTS = 16;
/** As much as is kept of one attempt. */
export const LOG_BYTES = PART_BYTES * PARTS;
/** Of one request. */
export const CHUNK_BYTES = 128 * 1024;
