/** Items in order of priority, highest first; first in, first out within one priority. */
export interface PriorityList {
  /** Adds an item, or raises its priority; a lower priority changes nothing. */
  add(item: string, priority: number): void;
  take(): { item: string; priority: number } | undefined;
  has(item: string): boolean;
  readonly size: number;
}

interface Entry {
  item: string;
  priority: number;
}

/**
 * Creates a priority list from arrays with a moving head, since taking the first item of a large array or Set is expensive.
 */
export function createPriorityList(): PriorityList {
  const entries = new Map<string, Entry>();
  const lanes = new Map<number, { queue: Entry[]; head: number }>();
  let order: number[] = [];

  return {
    add(item, priority) {
      const present = entries.get(item);
      if (present && present.priority >= priority) return;
      // The lower entry stays in place and is skipped, because it is no longer the entry in the map.
      const entry = { item, priority };
      entries.set(item, entry);
      const lane = lanes.get(priority);
      if (lane) lane.queue.push(entry);
      else {
        lanes.set(priority, { queue: [entry], head: 0 });
        order = [...lanes.keys()].sort((a, b) => b - a);
      }
    },
    take() {
      for (const priority of order) {
        const lane = lanes.get(priority);
        while (lane && lane.head < lane.queue.length) {
          const entry = lane.queue[lane.head];
          lane.head += 1;
          if (lane.head > 64 && lane.head * 2 > lane.queue.length) {
            lane.queue.splice(0, lane.head);
            lane.head = 0;
          }
          if (entry && entries.get(entry.item) === entry) {
            entries.delete(entry.item);
            return { item: entry.item, priority };
          }
        }
        lanes.delete(priority);
      }
      order = [];
      return undefined;
    },
    has: (item) => entries.has(item),
    get size() {
      return entries.size;
    },
  };
}
