/** An operation that was accepted and waits for a place among those that run at once. */
export interface Waiting {
  /** `namespace/name` of its cluster. */
  cluster: string;
  namespace: string;
  /** When it was accepted (RFC 3339). */
  since: string;
  /** It deletes its cluster, which frees hosts. */
  deletes: boolean;
}

/** How many operations run in each namespace. */
export type Running = ReadonlyMap<string, number>;

const compare = <T extends string | number>(one: T, other: T): number =>
  one < other ? -1 : one > other ? 1 : 0;

/** Deletions first, then by `level`, then by who waits longest. */
const before = (level: (one: Waiting) => number) => (one: Waiting, other: Waiting) =>
  compare(Number(other.deletes), Number(one.deletes)) ||
  compare(level(one), level(other)) ||
  compare(one.since, other.since) ||
  compare(one.cluster, other.cluster);

/**
 * The one that begins next: a deletion before all others, of them the one of the namespace in which the fewest run, of
 * those the one that waits longest.
 */
export function nextOf(waiting: Iterable<Waiting>, running: Running): Waiting | undefined {
  const order = before(({ namespace }) => running.get(namespace) ?? 0);
  let next: Waiting | undefined;
  for (const one of waiting) if (!next || order(one, next) < 0) next = one;
  return next;
}

/**
 * All in the order in which they would begin if nothing ended meanwhile, each counting from then on for its namespace:
 * of one namespace the n-th begins where n - 1 more run there than do now.
 */
export function inOrder(waiting: Iterable<Waiting>, running: Running): Waiting[] {
  const alike = before(() => 0);
  const levels = new Map<Waiting, number>();
  for (const [namespace, ones] of Map.groupBy(waiting, ({ namespace: of }) => of))
    for (const [index, one] of ones.sort(alike).entries())
      levels.set(one, (running.get(namespace) ?? 0) + index);
  return [...levels.keys()].sort(before((one) => levels.get(one) ?? 0));
}

/** A place in the queue as people are told it: exact up to ten, then rounded down, so that it does not move at each end. */
export function rounded(place: number): number {
  const grain = place <= 10 ? 1 : place < 100 ? 10 : 100;
  return place - (place % grain);
}
