/** Decides which operations may start: limits how many run at once, fairly by namespace. */

import { keyOf, operationUnderWay, textOf } from '#api/cluster-facts.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { ObjectKey } from '#api/meta.ts';
import type { Clock } from '#base/clock.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import type { Turn } from '../decide/snapshot.ts';
import { isFirstToBegin } from '../decide/times.ts';
import { inOrder, nextOf, rounded, type Waiting } from './queue-order.ts';

export interface FleetQueueDeps {
  clusters: Pick<Informer<KubernetesCluster>, 'addHandler'>;
  clock: Clock;
  /** Most operations that run at once over all clusters. */
  most: number;
  /** Most of them that run in one namespace. */
  mostOfOne: number;
  /** Called when a waiting cluster may begin, or has another place. */
  wake(key: ObjectKey): void;
}

/**
 * Decides which operations may begin. Stores nothing: running and waiting operations follow from the clusters. Grants that
 * the clusters do not show yet are in memory.
 */
export interface FleetQueue {
  /** Whether the operation under way may begin. `begun`: a run of its first attempt exists, whatever granted it. */
  turnOf(cluster: KubernetesCluster, begun: boolean): Turn;
  /** Gives back a place that the cluster got at least `heldMs` ago and does not use, until the cluster asks again. */
  release(cluster: KubernetesCluster, heldMs?: number): void;
}

interface Entry extends Waiting {
  key: ObjectKey;
  /** The identity of object and operation. */
  identity: string;
  /** `let`: the operation may begin, and the cache does not show yet that it did; `aside`: it gave its place back. */
  state: 'waiting' | 'aside' | 'let' | 'running';
  paused: boolean;
  /** The time since which it may begin. */
  letMs: number;
  place?: number | undefined;
  /** The place in the cluster's status; null if status only says that it waits. */
  reported?: number | null;
}

/** Places are recomputed at most once in this time, however many operations wait. */
const PLACES_MS = 1_000;
/** Most clusters that are triggered at once because their place changed: each writes a status. The others follow later. */
const MOST_MOVED = 200;

/** Counts the operations of each namespace that hold a place, and those that are ready. */
function namespaceCounts() {
  const [held, ready] = [new Map<string, number>(), new Map<string, number>()];
  const bump = (counts: Map<string, number>, namespace: string, by: number): void => {
    const count = (counts.get(namespace) ?? 0) + by;
    if (count === 0) counts.delete(namespace);
    else counts.set(namespace, count);
  };
  return {
    add(entry: Entry, by: 1 | -1): void {
      if (holdsPlace(entry)) bump(held, entry.namespace, by);
      if (isReady(entry)) bump(ready, entry.namespace, by);
    },
    running: (): ReadonlyMap<string, number> => held,
    /** Whether an operation is ready whose namespace may have another. */
    isAnyReady: (most: number): boolean =>
      [...ready.keys()].some((namespace) => (held.get(namespace) ?? 0) < most),
  };
}

const isReady = (entry: Entry): boolean => entry.state === 'waiting' && !entry.paused;
const holdsPlace = (entry: Entry): boolean => entry.state === 'let' || entry.state === 'running';

/** Returns the queue. It reads clusters from the first question on, and only the leader asks. */
export function fleetQueue({ clusters, clock, most, mostOfOne, wake }: FleetQueueDeps): FleetQueue {
  const entries = new Map<string, Entry>();
  const counts = { held: 0, ready: 0 };
  const ofNamespaces = namespaceCounts();
  let follows = false;
  let isMoved = false;
  let placedMs = Number.NEGATIVE_INFINITY;
  let isTimed = false;

  function put(cluster: string, entry: Entry | undefined): void {
    const old = entries.get(cluster);
    if (entry) entries.set(cluster, entry);
    else entries.delete(cluster);
    if (old) ofNamespaces.add(old, -1);
    if (entry) ofNamespaces.add(entry, 1);
    const held = Number(entry ? holdsPlace(entry) : false) - Number(old ? holdsPlace(old) : false);
    const ready = Number(entry ? isReady(entry) : false) - Number(old ? isReady(old) : false);
    counts.held += held;
    counts.ready += ready;
    isMoved ||= held !== 0 || ready !== 0;
  }

  function see(cluster: KubernetesCluster): void {
    const key = keyOf(cluster);
    const text = textOf(key);
    const operation = operationUnderWay(cluster);
    if (!operation) return void put(text, undefined);
    const old = entries.get(text);
    const { uid = '' } = cluster.metadata;
    const identity = `${uid}/${operation.sequence}`;
    const isSame = old?.identity === identity;
    // A deletion takes over the place of the operation that it stops.
    const follower = operation.name === 'delete' && old?.identity.startsWith(`${uid}/`) && holdsPlace(old);
    const paused = cluster.spec.paused === true;
    // Between two runs a paused operation does no work. It gets its place back when it continues, whatever has begun since.
    const begun = paused && operation.step === 'starting' ? 'aside' : 'running';
    const waits = isFirstToBegin(operation);
    const state = !waits ? begun : isSame ? old.state : follower ? 'let' : 'waiting';
    put(text, {
      cluster: text,
      namespace: key.namespace,
      key,
      identity,
      since: operation.startedAt,
      deletes: operation.name === 'delete',
      paused,
      letMs: clock.monotonicMs(),
      ...(isSame ? { place: old.place, reported: old.reported, letMs: old.letMs } : {}),
      state,
    });
  }

  const ready = () => [...entries.values()].filter(isReady);

  /** Returns the next to begin: at most `free`, and of no namespace more than may run. */
  function chosen(free: number): Waiting[] {
    if (!ofNamespaces.isAnyReady(mostOfOne)) return [];
    const running = ofNamespaces.running();
    const hasRoom = ({ namespace }: Waiting) => (running.get(namespace) ?? 0) < mostOfOne;
    const candidates = ready().filter(hasRoom);
    if (free === 1) {
      const one = nextOf(candidates, running);
      return one ? [one] : [];
    }
    const then = new Map(running);
    const fits = ({ namespace }: Waiting): boolean => {
      const count = then.get(namespace) ?? 0;
      then.set(namespace, count + 1);
      return count < mostOfOne;
    };
    return inOrder(candidates, running).filter(fits).slice(0, free);
  }

  function letBegin(entry: Entry): void {
    put(entry.cluster, { ...entry, state: 'let', letMs: clock.monotonicMs() });
    if (entry.reported !== undefined) wake(entry.key);
  }

  /** Assigns the free places; the operations that still wait get their new places. */
  function dispatch(): void {
    const free = most - counts.held;
    if (free > 0 && counts.ready > 0) {
      for (const { cluster } of chosen(free)) {
        const entry = entries.get(cluster);
        if (entry) letBegin(entry);
      }
    }
    if (isMoved && counts.ready > 0) computePlacesInTime();
  }

  function computePlacesInTime(): void {
    const restMs = placedMs + PLACES_MS - clock.monotonicMs();
    if (restMs <= 0) return void computePlaces();
    if (isTimed) return;
    isTimed = true;
    clock.after(restMs, () => {
      isTimed = false;
      computePlaces();
    });
  }

  function computePlaces(): void {
    placedMs = clock.monotonicMs();
    isMoved = false;
    let woken = 0;
    for (const [place, { cluster }] of inOrder(ready(), ofNamespaces.running()).entries()) {
      const entry = entries.get(cluster);
      if (!entry) continue;
      entry.place = place;
      if (entry.reported === undefined || entry.reported === rounded(place)) continue;
      woken += 1;
      if (woken <= MOST_MOVED) wake(entry.key);
    }
    // The status of a skipped cluster still shows its former place.
    isMoved = woken > MOST_MOVED;
    if (isMoved) computePlacesInTime();
  }

  function follow(): void {
    follows = true;
    let isWhole = false;
    const probe = (cluster: KubernetesCluster) => {
      see(cluster);
      if (isWhole) dispatch();
    };
    clusters.addHandler({
      add: probe,
      update: (_before, cluster, { resync }) => {
        if (!resync) probe(cluster);
      },
      delete: (cluster) => {
        put(textOf(keyOf(cluster)), undefined);
        dispatch();
      },
    });
    // No place is assigned before all running operations are known.
    isWhole = true;
  }

  return {
    turnOf(cluster, begun) {
      if (!follows) follow();
      const text = textOf(keyOf(cluster));
      if (!entries.has(text)) see(cluster);
      const entry = entries.get(text);
      if (!entry) return { kind: 'now' };
      if (begun && !holdsPlace(entry)) put(text, { ...entry, state: 'let', letMs: clock.monotonicMs() });
      else if (entry.state === 'aside') put(text, { ...entry, state: 'waiting' });
      dispatch();
      const now = entries.get(text);
      if (!now || holdsPlace(now)) return { kind: 'now' };
      const before = now.place === undefined ? undefined : rounded(now.place);
      now.reported = before ?? null;
      const isFull = counts.held < most && (ofNamespaces.running().get(now.namespace) ?? 0) >= mostOfOne;
      return { kind: 'waits', before, most, ...(isFull ? { mostOfOne } : {}) };
    },
    release(cluster, heldMs = 0) {
      const text = textOf(keyOf(cluster));
      const entry = entries.get(text);
      if (entry?.state !== 'let' || clock.monotonicMs() < entry.letMs + heldMs) return;
      put(text, { ...entry, state: 'aside', place: undefined });
      dispatch();
    },
  };
}
