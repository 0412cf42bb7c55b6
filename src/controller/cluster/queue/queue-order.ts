/** An accepted operation that waits for a place among those that run at once. */
export interface Waiting {
  /** `namespace/name` of its cluster. */
  cluster: string;
  namespace: string;
  /** Time of its acceptance (RFC 3339). */
  since: string;
  /** Whether it deletes its cluster, which frees hosts. */
  deletes: boolean;
}

/** Number of running operations by namespace. */
export type Running = ReadonlyMap<string, number>;

const compare = <T extends string | number>(one: T, other: T): number =>
  one < other ? -1 : one > other ? 1 : 0;

/** Compares two operations: deletions first, then by `level`, then by waiting time. */
const before = (level: (one: Waiting) => number) => (one: Waiting, other: Waiting) =>
  compare(Number(other.deletes), Number(one.deletes)) ||
  compare(level(one), level(other)) ||
  compare(one.since, other.since) ||
  compare(one.cluster, other.cluster);

/**
 * Returns the next operation to begin: deletions first, then the namespace with the fewest running operations, then the one
 * that waits longest.
 */
export function nextOf(waiting: Iterable<Waiting>, running: Running): Waiting | undefined {
  const order = before(({ namespace }) => running.get(namespace) ?? 0);
  let next: Waiting | undefined;
  for (const one of waiting) if (!next || order(one, next) < 0) next = one;
  return next;
}

/**
 * Returns all operations in the order in which they would begin if none ended. Each one then counts for its namespace: the
 * n-th of a namespace ranks as if n - 1 more ran there than do now.
 */
export function inOrder(waiting: Iterable<Waiting>, running: Running): Waiting[] {
  const alike = before(() => 0);
  const levels = new Map<Waiting, number>();
  for (const [namespace, ones] of Map.groupBy(waiting, ({ namespace: of }) => of))
    for (const [index, one] of ones.sort(alike).entries())
      levels.set(one, (running.get(namespace) ?? 0) + index);
  return [...levels.keys()].sort(before((one) => levels.get(one) ?? 0));
}

/** Rounds a place for the status message: exact up to ten, then rounded down, so that it does not change with each end. */
export function rounded(place: number): number {
  const grain = place <= 10 ? 1 : place < 100 ? 10 : 100;
  return place - (place % grain);
}
