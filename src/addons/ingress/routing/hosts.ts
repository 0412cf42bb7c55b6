/** Of requests for hosts that nobody names: rules without a host, and default backends. */
export const ANY_HOST = '';

/** The host of a rule or a request as it is looked up: lower case, without the dot of an absolute name. */
export function hostOf(name: string): string {
  const lower = name.toLowerCase();
  return lower.endsWith('.') ? lower.slice(0, -1) : lower;
}

/** The wildcard that covers a host by its first label; undefined where it has but one. */
export function wildcardOf(host: string): string | undefined {
  const dot = host.indexOf('.');
  return dot > 0 ? `*${host.slice(dot)}` : undefined;
}

/** What belongs to a host: an exact name before a wildcard before what is for any host. */
export function byHost<T>(map: ReadonlyMap<string, T>, host: string): T | undefined {
  const exact = map.get(host);
  if (exact !== undefined) return exact;
  const wildcard = wildcardOf(host);
  const covering = wildcard === undefined ? undefined : map.get(wildcard);
  return covering === undefined ? map.get(ANY_HOST) : covering;
}
