import { describe, expect, it } from 'vitest';
import type { KubeObject, ObjectKey } from '#api/meta.ts';
import { createGoneWaiters } from '../cache/gone-waiters.ts';
import { createStore } from '../cache/store.ts';
import { createVersionWaiters, isAtLeast } from '../cache/version-waiters.ts';
import { createHolds } from './read-your-writes.ts';

const key: ObjectKey = { namespace: 'n', name: 'child' };
const child = (uid: string, resourceVersion: string): KubeObject => ({
  metadata: { ...key, uid, resourceVersion },
});

/** Creates the parts of an informer that holds use. */
function setUp() {
  const store = createStore<KubeObject>();
  const versions = createVersionWaiters();
  const gone = createGoneWaiters();
  const holds = createHolds();
  let version = '1';
  const reach = (to: string) => {
    version = to;
    gone.check(store.get);
    versions.reach(to);
  };
  const informer = {
    hasReached: (wanted: string) => isAtLeast(version, wanted),
    onReached(wanted: string, then: () => void) {
      if (!isAtLeast(version, wanted)) return versions.add(wanted, 0, then);
      then();
      return () => {};
    },
    onGone(object: ObjectKey, uid: string, then: () => void) {
      if (store.get(object)?.metadata.uid === uid) return gone.add(object, uid, then);
      then();
      return () => {};
    },
  };
  let woken = 0;
  const passes = () => holds.passes('parent', () => (woken += 1));
  return {
    holds,
    informer,
    passes,
    woken: () => woken,
    show(object: KubeObject) {
      store.upsert(object);
      reach(object.metadata.resourceVersion ?? '');
    },
    lose(object: KubeObject, at: string) {
      store.remove(object);
      reach(at);
    },
  };
}

describe('a hold', () => {
  it('lasts after a delete until the cache has lost that object', () => {
    const { holds, informer, passes, woken, show, lose } = setUp();
    show(child('a', '5'));
    holds.deleted('parent', key, 'a', informer);
    expect(passes()).toBe(false);
    show(child('a', '6'));
    expect([passes(), woken()]).toEqual([false, 0]);
    lose(child('a', '6'), '7');
    expect([woken(), passes(), holds.size]).toEqual([1, true, 0]);
  });

  it('ends if another object of that name appears', () => {
    const { holds, informer, passes, show } = setUp();
    show(child('a', '5'));
    holds.deleted('parent', key, 'a', informer);
    show(child('b', '8'));
    expect(passes()).toBe(true);
  });

  it('does not start if the cache never had the object', () => {
    const { holds, informer, passes } = setUp();
    holds.deleted('parent', key, 'a', informer);
    expect(passes()).toBe(true);
  });

  it('does not count a new object that the cache lacks yet as deleted', () => {
    const { holds, informer, passes, show, lose } = setUp();
    holds.wrote('parent', child('a', '9'), informer);
    holds.deleted('parent', key, 'a', informer);
    expect(passes()).toBe(false);
    show(child('a', '9'));
    expect(passes()).toBe(false);
    lose(child('a', '9'), '10');
    expect(passes()).toBe(true);
  });
});
