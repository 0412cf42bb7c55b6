/** Bytes at the end of a log that are reserved for the notice that the log is full. */
export const RESERVED_BYTES = 512;

const NEWLINE = 0x0a;

/**
 * Returns how many bytes of `chunk` are stored if `room` bytes are left: whole lines, so that no line is split between two
 * parts. A line longer than a chunk comes in pieces, and is cut only where the log is full.
 */
export function fitting(chunk: Buffer, room: number): number {
  const limit = Math.min(chunk.length, Math.max(room, 0));
  const lines = limit === 0 ? 0 : chunk.lastIndexOf(NEWLINE, limit - 1) + 1;
  if (lines > 0) return lines;
  if (chunk.length <= room) return chunk.length;
  let end = limit;
  while (end > 0 && isMiddle(chunk[end])) end -= 1;
  return end;
}

/** Whether a byte continues a UTF-8 character. */
const isMiddle = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** Returns the event that replaces everything after a log was full. */
export const fullNotice = (now: Date, why: string): string =>
  `${JSON.stringify({ time: now.toISOString(), event: 'info', message: `the log is full; what follows was not kept: ${why}` })}\n`;
