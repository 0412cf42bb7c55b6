/** Quotes a text as one word of a POSIX shell's command line. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
