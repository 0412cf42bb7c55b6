/** Full names of specs from a list of ours: one a line; empty lines and those that begin with `#` say nothing. */
export const specsIn = (text: string): string[] =>
  text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));

/**
 * A ginkgo focus, a regular expression of Go's, that takes these specs of a suite and no other, be its name longer or
 * shorter.
 */
export const focusOn = (suite: string, names: readonly string[]): string =>
  `^${quoted(suite)} (?:${names.map(quoted).join('|')})$`;

const quoted = (text: string): string => text.replace(/[\\.+*?()|[\]{}^$]/g, '\\$&');
