import Table from 'cli-table3';
import XMLBuilder from 'fast-xml-builder';
import type { Check } from '#precheck/check.ts';
import type { PrecheckHost, PrecheckProblem } from '#precheck/run.ts';

export interface PrecheckReport {
  hosts: readonly Pick<PrecheckHost, 'ip' | 'name' | 'role'>[];
  problems: readonly PrecheckProblem[];
  /** Lines of known_hosts for hosts without a pinned key. */
  taken: readonly string[];
}

export type Output = 'table' | 'json' | 'junit';

/** Removes characters that control a terminal, or that XML does not allow, from messages, which quote hosts. */
const plain = (text: string): string => text.replaceAll(/[\p{C}\uFFFE\uFFFF]+/gu, ' ');

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`;

function asTable({ hosts, problems, taken }: PrecheckReport, columns: number): string {
  const [narrow, rest] = [[16, 18, 19, 9], 6];
  const last = Math.max(30, columns - narrow.reduce((sum, width) => sum + width, rest));
  const table = new Table({
    head: ['host', 'node', 'check', 'severity', 'problem'],
    colWidths: [...narrow, last],
    wordWrap: true,
    style: { head: [], border: [] },
  });
  for (const { ip, name } of hosts) {
    const own = problems.filter((problem) => problem.ip === ip);
    if (own.length === 0) table.push([ip, name, 'all', 'ok', '']);
    for (const { check, severity, message } of own) table.push([ip, name, check, severity, plain(message)]);
  }
  const of = (severity: string) => problems.filter((problem) => problem.severity === severity).length;
  const keys =
    taken.length === 0
      ? []
      : [
          `Host keys of ${count(taken.length, 'host')} were taken at first sight. Check them, and keep them for --known-hosts:`,
          ...taken,
        ];
  return [
    table.toString(),
    `${count(hosts.length, 'host')} checked: ${count(of('error'), 'error')}, ${count(of('warning'), 'warning')}.`,
    ...keys,
  ].join('\n');
}

function asJson({ hosts, problems, taken }: PrecheckReport): string {
  const reported = hosts.map(({ ip, name, role }) => {
    const own = problems.filter((problem) => problem.ip === ip);
    return {
      ip,
      name,
      role,
      ok: own.every(({ severity }) => severity !== 'error'),
      problems: own.map(({ check, severity, message }) => ({ check, severity, message: plain(message) })),
    };
  });
  return JSON.stringify(
    { ok: reported.every(({ ok }) => ok), hosts: reported, hostKeysTaken: taken },
    undefined,
    2,
  );
}

/** Formats a suite for each host and a case for each check; a check of SSH, such as Unreachable, is a separate case. */
function asJunit({ hosts, problems }: PrecheckReport, checks: readonly Check[]): string {
  const suites = hosts.map(({ ip, name }) => {
    const own = problems.filter((problem) => problem.ip === ip);
    const of = (check: string, severity: string) =>
      own
        .filter((one) => one.check === check && one.severity === severity)
        .map(({ message }) => plain(message));
    const names = checks.map((check) => check.name);
    const connection = own.map(({ check }) => check).filter((check) => !names.includes(check));
    // No check ran on an unreachable host.
    const asked = connection.length > 0 ? [...new Set(connection)] : names;
    const cases = asked.map((check) => {
      const [errors, warnings] = [of(check, 'error'), of(check, 'warning')];
      return {
        '@name': check,
        '@classname': `precheck.${ip}`,
        ...(errors.length === 0 ? {} : { failure: { '@message': errors.join('; '), '@type': check } }),
        ...(warnings.length === 0 ? {} : { 'system-out': warnings.join('\n') }),
      };
    });
    const failures = cases.filter((one) => 'failure' in one).length;
    return { '@name': `${name} (${ip})`, '@tests': cases.length, '@failures': failures, testcase: cases };
  });
  const sum = (key: '@tests' | '@failures') => suites.reduce((total, suite) => total + suite[key], 0);
  const builder = new XMLBuilder({ ignoreAttributes: false, attributeNamePrefix: '@', format: true });
  return builder
    .build({
      '?xml': { '@version': '1.0', '@encoding': 'UTF-8' },
      testsuites: {
        '@name': 'matryoshka precheck',
        '@tests': sum('@tests'),
        '@failures': sum('@failures'),
        testsuite: suites,
      },
    })
    .trimEnd();
}

/** Returns the result of a precheck in the requested format. */
export function reportOf(
  report: PrecheckReport,
  output: Output,
  checks: readonly Check[],
  columns: number,
): string {
  if (output === 'json') return asJson(report);
  return output === 'junit' ? asJunit(report, checks) : asTable(report, columns);
}
