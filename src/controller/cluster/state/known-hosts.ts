/**
 * Merges two known_hosts texts. The first line for a host and key type wins, so a pinned key is never replaced. Lines are
 * sorted, so that equal sets are equal text.
 */
export function mergeKnownHosts(first: string, second: string): string {
  const lines = new Map<string, string>();
  for (const line of `${first}\n${second}`.split('\n').map((text) => text.trim())) {
    const [host, type] = line.split(/\s+/);
    if (line === '' || line.startsWith('#') || lines.has(`${host} ${type}`)) continue;
    lines.set(`${host} ${type}`, line);
  }
  return [...lines.values()]
    .sort()
    .map((line) => `${line}\n`)
    .join('');
}
