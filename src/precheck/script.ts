import type { Check, ScriptInput } from './check.ts';

/**
 * The POSIX shell script that asks a host for all checks at once, so that a check costs no round trip. Each part stands
 * alone: a tool that a host lacks leaves a line out, and the check that needs the line says so.
 */
export const scriptOf = (checks: readonly Check[], input: ScriptInput): string =>
  [
    'LC_ALL=C; export LC_ALL',
    `say() { printf '@%s %s\\n' "$1" "$2"; }`,
    ...checks.flatMap(({ script }) => (script ? [`( ${script(input).trim() || ':'}\n) 2>/dev/null`] : [])),
    'exit 0\n',
  ].join('\n');
