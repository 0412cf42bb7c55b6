import { plainText } from '#base/plain-text.ts';

/** Prefix of continued lines; no line of the operator begins like this. */
export const CONTINUED = '    | ';

/** Returns text of a host for a log: further lines begin with a prefix, so that users can tell them from the operator's. */
export const logText = (text: string): string =>
  text
    .trimEnd()
    .split(/\r\n|[\n\r\u0085\u2028\u2029]/)
    .map((line) => plainText(line).trimEnd())
    .join(`\n${CONTINUED}`);
