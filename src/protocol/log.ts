/** Limits of an attempt's log, which both ends of the wire keep. */

/** The size of one ConfigMap; etcd takes 1.5 MiB, and each append writes all of it. */
export const PART_BYTES = 512 * 1024;
/** ConfigMaps of one attempt. */
export const PARTS = 16;
/** The most that is kept of one attempt. */
export const LOG_BYTES = PART_BYTES * PARTS;
/** The size of one request. */
export const CHUNK_BYTES = 128 * 1024;
