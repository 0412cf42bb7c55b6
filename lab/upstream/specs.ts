/** Returns the full names of specs in a list of ours, one a line. Empty lines and lines that begin with `#` are ignored. */
export const specsIn = (text: string): string[] =>
  text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));

/**
 * Returns a ginkgo focus, a Go regular expression, for exactly these specs of a suite. It matches no shorter or longer name.
 */
export const focusOn = (suite: string, names: readonly string[]): string =>
  `^${quoted(suite)} (?:${names.map(quoted).join('|')})$`;

const quoted = (text: string): string => text.replace(/[\\.+*?()|[\]{}^$]/g, '\\$&');
