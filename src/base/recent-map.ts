/** Map that drops the entry that was set longest ago when it has more than `size`. */
export interface RecentMap<T> {
  get(key: string): T | undefined;
  set(key: string, value: T): void;
  delete(key: string): void;
}

export function recentMap<T>(size: number): RecentMap<T> {
  const kept = new Map<string, T>();
  return {
    get: (key) => kept.get(key),
    set(key, value) {
      // A Map keeps the order of insertion, so its first key is the oldest.
      kept.delete(key);
      kept.set(key, value);
      const oldest = kept.size > size ? kept.keys().next() : undefined;
      if (oldest && !oldest.done) kept.delete(oldest.value);
    },
    delete: (key) => void kept.delete(key),
  };
}
