/** Networks on one line: a line of HAProxy's configuration has 64 arguments at most. */
const A_LINE = 40;

/**
 * Returns the lines of an ACL that matches clients of any of these networks. Source: haproxy 3.0 configuration manual, 7.1.
 */
export function sources(name: string, networks: readonly string[]): string[] {
  const lines: string[] = [];
  for (let at = 0; at < networks.length; at += A_LINE)
    lines.push(`acl ${name} src ${networks.slice(at, at + A_LINE).join(' ')}`);
  return lines;
}
