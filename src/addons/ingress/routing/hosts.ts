/** Key of requests for hosts that no rule names: rules without a host, and default backends. */
export const ANY_HOST = '';

/** Normalizes the host of a rule or a request: lower case, without the dot of an absolute name. */
export function hostOf(name: string): string {
  const lower = name.toLowerCase();
  return lower.endsWith('.') ? lower.slice(0, -1) : lower;
}

/** Returns the wildcard that covers a host in its first label; undefined for a host with one label. */
export function wildcardOf(host: string): string | undefined {
  const dot = host.indexOf('.');
  return dot > 0 ? `*${host.slice(dot)}` : undefined;
}

/** Returns the entry of a host: the exact name, else the wildcard, else the entry for any host. */
export function byHost<T>(map: ReadonlyMap<string, T>, host: string): T | undefined {
  const exact = map.get(host);
  if (exact !== undefined) return exact;
  const wildcard = wildcardOf(host);
  const covering = wildcard === undefined ? undefined : map.get(wildcard);
  return covering === undefined ? map.get(ANY_HOST) : covering;
}
