/** Order of Kubernetes versions such as `v1.34.4`. */

/** Returns major, minor and patch. */
const numbersOf = (version: string): number[] => version.replace(/^v/, '').split('.').map(Number);

/** Whether `to` is later than `from`. */
export function isLater(from: string, to: string): boolean {
  const [before, after] = [numbersOf(from), numbersOf(to)];
  const at = after.findIndex((number, index) => number !== before[index]);
  return at >= 0 && (after[at] ?? 0) > (before[at] ?? 0);
}

/** Whether kubeadm upgrades `from` to `to` in one step: by at most one minor version (kubernetes.io, Version Skew Policy). */
export function isNext(from: string, to: string): boolean {
  const [before, after] = [numbersOf(from), numbersOf(to)];
  return before[0] === after[0] && (after[1] ?? 0) - (before[1] ?? 0) <= 1;
}

/** Returns the versions to which `from` can be upgraded in one step. */
export const nextOf = (from: string, versions: readonly string[]): string[] =>
  versions.filter((to) => isLater(from, to) && isNext(from, to));
