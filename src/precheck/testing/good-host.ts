import type { CheckContext, CheckedHost } from '../check.ts';
import { checks } from '../index.ts';
import { limitsOf } from '../limits.ts';
import { said } from '../said.ts';

/** Returns the answer of a good host, with the lines of some keys replaced. */
function answer(lines: readonly string[]): string {
  const key = (line: string) => line.split(' ')[0];
  const replaced = new Set(lines.map(key));
  const good = checks.flatMap((check) => check.good.split('\n')).filter((line) => !replaced.has(key(line)));
  return [...good, ...lines].join('\n');
}

/** Returns a good host whose answer has these lines in place of the usual ones of the same keys. */
export const hostWith = (lines: readonly string[], more: Partial<CheckedHost> = {}): CheckedHost => ({
  name: 'a',
  ip: '10.0.0.1',
  role: 'control-plane',
  clusterId: 'mine',
  said: said(answer(lines)),
  ...more,
});

/** Returns the findings of all checks for a host, with the given limits of a site and networks of the cluster. */
export function findingsOf(
  host: CheckedHost,
  others: CheckedHost[] = [],
  given: unknown = {},
  networks: string[] = [],
  podNetwork = 'flannel',
) {
  const limits = limitsOf(checks, given);
  const context: CheckContext = {
    host,
    all: [host, ...others],
    limits,
    networks,
    podNetwork,
    askedAtMs: 990_000,
    answeredAtMs: 1_000_000,
  };
  return checks.map(({ name, check }) => ({ name, ...check(context) }));
}

/** Lists the checks that find errors. */
export const errorsOf = (...args: Parameters<typeof findingsOf>): string[] =>
  findingsOf(...args)
    .filter(({ errors }) => errors.length > 0)
    .map(({ name }) => name);

/** Lists the checks that warn. */
export const warningsOf = (...args: Parameters<typeof findingsOf>): string[] =>
  findingsOf(...args)
    .filter(({ warnings }) => warnings.length > 0)
    .map(({ name }) => name);

/** Returns all errors of a host. */
export const messageOf = (...args: Parameters<typeof findingsOf>): string =>
  findingsOf(...args)
    .flatMap(({ errors }) => errors)
    .join('; ');
