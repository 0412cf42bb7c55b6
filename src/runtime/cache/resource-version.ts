/**
 * Compares two resourceVersions of one resource: negative, zero, positive; undefined if they differ and one is no decimal
 * number. Since KEP-5504 (Kubernetes 1.35) clients may compare them as numbers of any length; every supported server counts
 * etcd revisions. Source: apimachinery util/resourceversion.
 */
export function compareVersions(a: string, b: string): number | undefined {
  if (a === b) return 0;
  if (!isNumber(a) || !isNumber(b)) return undefined;
  return a.length === b.length ? (a < b ? -1 : 1) : a.length - b.length;
}

function isNumber(text: string): boolean {
  return /^[1-9][0-9]*$/.test(text);
}
