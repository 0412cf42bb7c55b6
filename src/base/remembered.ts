/**
 * Returns `make` with one call for each argument, for costly results about objects that never change, such as those of a
 * cache. A result is kept as long as its object.
 */
export function remembered<K extends object, V>(make: (of: K) => V): (of: K) => V {
  const known = new WeakMap<K, { value: V }>();
  return (of) => {
    const found = known.get(of);
    if (found) return found.value;
    const value = make(of);
    known.set(of, { value });
    return value;
  };
}
