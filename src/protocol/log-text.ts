import { plainText } from '#base/plain-text.ts';

/** No line of the operator begins like this. */
export const CONTINUED = '    | ';

/**
 * Returns text of a host as it may stand in a log: a second line begins with a mark, so that it is not taken for a line of
 * the operator.
 */
export const logText = (text: string): string =>
  text
    .trimEnd()
    .split(/\r\n|[\n\r\u0085\u2028\u2029]/)
    .map((line) => plainText(line).trimEnd())
    .join(`\n${CONTINUED}`);
