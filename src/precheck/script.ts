import { quoted } from '#ssh/quoted.ts';
import type { AskedHost, Check, ScriptInput } from './check.ts';

/**
 * Returns the POSIX shell script that asks a host for all checks at once, so that a check costs no round trip. Each part is
 * independent: a tool that a host lacks leaves a line out, and the check that needs the line reports it. Parts that wait for
 * other hosts run in parallel with the rest.
 */
export function scriptOf(checks: readonly Check[], input: ScriptInput): string {
  const part = ({ script }: Check): string[] =>
    script ? [`( ${script(input).trim() || ':'}\n) 2>/dev/null`] : [];
  return [
    'LC_ALL=C; export LC_ALL',
    `say() { printf '@%s %s\\n' "$1" "$2"; }`,
    ...checks.filter(({ waits }) => waits).flatMap((check) => part(check).map((text) => `${text} &`)),
    ...checks.filter(({ waits }) => !waits).flatMap(part),
    'wait',
    'exit 0\n',
  ].join('\n');
}

/** Returns the variables of the checks for one host, which precede the script. */
export const variablesOf = (checks: readonly Check[], host: AskedHost, all: readonly AskedHost[]): string =>
  checks
    .flatMap(({ variables }) => Object.entries(variables?.(host, all) ?? {}))
    .map(([name, value]) => `${name}=${quoted(value)}\n`)
    .join('');
