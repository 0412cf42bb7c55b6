import { describe, expect, it } from 'vitest';
import type { KubernetesCluster, OperationStatus } from '#api/kubernetes-cluster.ts';
import type { OperationName } from '#api/operation-values.ts';
import { createManualClock } from '#base/testing/manual-clock.ts';
import { randomFrom } from '#base/testing/random.ts';
import type { Handler } from '#runtime/cache/informer.ts';
import { fleetQueue } from './fleet-queue.ts';

/** Clusters as a cache shows them, and the clusters that the queue triggered. */
function fleet(most: number, mostOfOne = most) {
  const clock = createManualClock();
  const objects = new Map<string, KubernetesCluster>();
  let handler: Handler<KubernetesCluster> | undefined;
  const woken: string[] = [];
  const start = () => {
    handler = undefined;
    return fleetQueue({
      clusters: {
        addHandler(given) {
          handler = given;
          for (const object of objects.values()) given.add?.(object, { initial: true });
          return () => {};
        },
      },
      clock,
      most,
      mostOfOne,
      wake: ({ namespace, name }) => woken.push(`${namespace}/${name}`),
    });
  };
  let queue = start();
  let sequence = 0;
  const metadataOf = (cluster: string) => {
    const [namespace = '', name = ''] = cluster.split('/');
    return { namespace, name, uid: cluster };
  };
  const show = (cluster: string, operation: Partial<OperationStatus>, paused = false) => {
    const before = objects.get(cluster);
    const after: KubernetesCluster = {
      metadata: metadataOf(cluster),
      spec: { paused, cluster: {} },
      status: {
        operation: {
          id: 'x',
          name: 'create',
          sequence,
          attempt: 1,
          word: 'creating',
          requestId: '',
          specHash: '',
          generation: 1,
          spec: { cluster: {} },
          step: 'starting',
          startedAt: clock.now().toISOString(),
          ...before?.status?.operation,
          ...operation,
        },
      },
    };
    objects.set(cluster, after);
    if (before) handler?.update?.(before, after, { initial: false, resync: false });
    else handler?.add?.(after, { initial: false });
  };
  const get = (cluster: string): KubernetesCluster => {
    const found = objects.get(cluster);
    if (!found) throw new Error(`there is no cluster ${cluster}`);
    return found;
  };
  return {
    clock,
    woken,
    /** Returns the clusters that were triggered since the last call. */
    news: () => woken.splice(0).sort().join(' '),
    async accept(cluster: string, name: OperationName = 'create') {
      await clock.advance(1);
      sequence += 1;
      show(cluster, { name, sequence, startedAt: clock.now().toISOString(), step: 'starting', attempt: 1 });
    },
    runs: (cluster: string) => show(cluster, { step: 'masters', startedAt: clock.now().toISOString() }),
    loses: (cluster: string) => show(cluster, { step: 'starting', attempt: 2 }),
    ends: (cluster: string) => show(cluster, { result: 'finished' }),
    pause: (cluster: string, paused: boolean) => show(cluster, {}, paused),
    remove(cluster: string) {
      const last = get(cluster);
      objects.delete(cluster);
      handler?.delete?.(last, { stale: false });
    },
    ask(cluster: string, begun = false): string {
      const turn = queue.turnOf(get(cluster), begun);
      if (turn.kind === 'waits' && turn.mostOfOne !== undefined) return `waits for one of ${turn.mostOfOne}`;
      return turn.kind === 'now' ? 'now' : `waits for ${turn.before ?? '?'} of ${turn.most}`;
    },
    release: (cluster: string, heldMs?: number) => queue.release(get(cluster), heldMs),
    restart: () => {
      queue = start();
    },
  };
}

describe('the queue of operations', () => {
  it('starts as many operations as allowed, and reports the place of the others', async () => {
    const { accept, ask } = fleet(2);
    for (const cluster of ['a/1', 'a/2', 'a/3', 'b/1']) await accept(cluster);
    expect(['a/1', 'a/2', 'a/3', 'b/1'].map((cluster) => ask(cluster))).toEqual([
      'now',
      'waits for 0 of 2',
      'waits for 1 of 2',
      'now',
    ]);
  });

  it('wakes only the next operation when one ends', async () => {
    const { accept, ask, runs, ends, news } = fleet(1);
    for (const cluster of ['a/1', 'a/2', 'a/3']) await accept(cluster);
    expect(ask('a/1')).toBe('now');
    ask('a/2');
    ask('a/3');
    runs('a/1');
    expect(news()).toBe('');
    ends('a/1');
    expect(news()).toBe('a/2');
    expect([ask('a/2'), ask('a/3')]).toEqual(['now', 'waits for 1 of 1']);
  });

  it('reports changed places within a second, even if they change again meanwhile', async () => {
    const { accept, ask, ends, news, clock } = fleet(2);
    const all = Array.from({ length: 8 }, (_of, index) => `a/${index}`);
    for (const cluster of all) await accept(cluster);
    for (const cluster of all) ask(cluster);
    await clock.advance(1_000);
    for (const cluster of all) ask(cluster);
    await clock.advance(1_000);
    news();
    ends('a/0');
    expect(news()).toBe('a/2 a/3 a/4 a/5 a/6 a/7');
    for (const cluster of all.slice(3)) ask(cluster);
    ends('a/1');
    expect(news()).toBe('a/3');
    await clock.advance(999);
    expect(news()).toBe('');
    await clock.advance(1);
    expect(news()).toBe('a/4 a/5 a/6 a/7');
    expect(ask('a/4')).toBe('waits for 0 of 2');
    await clock.advance(10_000);
    expect(clock.timers).toBe(0);
  });

  it('wakes at most 200 at once, and the others a second later', async () => {
    const { accept, ask, remove, woken, clock } = fleet(1);
    const all = Array.from({ length: 2_500 }, (_of, index) => `n${index}/c`);
    for (const cluster of all) await accept(cluster);
    for (const cluster of all) ask(cluster);
    await clock.advance(1_000);
    for (const cluster of all) ask(cluster);
    await clock.advance(1_000);
    remove('n1/c');
    for (const cluster of woken.splice(0)) ask(cluster);
    for (const cluster of all.slice(2, 1_001)) remove(cluster);
    await clock.advance(1_000);
    expect(woken.length).toBe(200);
    for (const cluster of woken.splice(0)) ask(cluster);
    await clock.advance(1_000);
    expect(woken.length).toBe(200);
  });

  it('finds running operations after a restart by step or attempt', async () => {
    const { accept, ask, runs, loses, restart, clock } = fleet(2);
    for (const cluster of ['a/1', 'a/2', 'a/3']) await accept(cluster);
    await clock.advance(1);
    for (const cluster of ['a/1', 'a/2']) {
      ask(cluster);
      runs(cluster);
    }
    loses('a/2');
    restart();
    expect(ask('a/3')).toBe('waits for 0 of 2');
    expect([ask('a/1'), ask('a/2')]).toEqual(['now', 'now']);
  });

  it('counts a run that it finds after a restart', async () => {
    const { accept, ask, restart } = fleet(1);
    await accept('a/1');
    await accept('a/2');
    restart();
    // Both: a start that was granted before the other run was seen is not revoked.
    expect([ask('a/1'), ask('a/2', true)]).toEqual(['now', 'now']);
    await accept('a/3');
    expect(ask('a/3')).toMatch(/^waits/);
  });

  it('skips a paused operation, which keeps its place', async () => {
    const { accept, ask, ends, pause, news } = fleet(1);
    for (const cluster of ['a/1', 'a/2', 'a/3', 'a/4']) await accept(cluster);
    for (const cluster of ['a/1', 'a/2', 'a/3', 'a/4']) ask(cluster);
    pause('a/2', true);
    news();
    ends('a/1');
    expect(news()).toBe('a/3');
    pause('a/2', false);
    ends('a/3');
    expect(news()).toContain('a/2');
    expect([ask('a/2'), ask('a/4')]).toEqual(['now', expect.stringMatching(/^waits/)]);
  });

  it('gives the place of an operation paused between attempts to another until it resumes', async () => {
    const { accept, ask, runs, loses, ends, pause } = fleet(1);
    for (const cluster of ['a/1', 'a/2', 'a/3']) await accept(cluster);
    for (const cluster of ['a/1', 'a/2']) ask(cluster);
    runs('a/1');
    pause('a/1', true);
    expect(ask('a/2')).toMatch(/^waits/);
    loses('a/1');
    pause('a/1', true);
    expect(ask('a/1')).toMatch(/^waits/);
    expect([ask('a/2'), ask('a/3')]).toEqual(['now', expect.stringMatching(/^waits/)]);
    pause('a/1', false);
    expect(ask('a/1')).toBe('now');
    ends('a/2');
    expect(ask('a/3')).toMatch(/^waits/);
  });

  it('starts a deletion in place of the operation that it stops, and before others', async () => {
    const { accept, ask, runs, ends } = fleet(2);
    for (const cluster of ['a/1', 'a/2', 'a/3', 'a/4']) await accept(cluster);
    for (const cluster of ['a/1', 'a/2']) {
      ask(cluster);
      runs(cluster);
    }
    await accept('a/1', 'delete');
    expect(ask('a/1')).toBe('now');
    await accept('a/4', 'delete');
    expect([ask('a/3'), ask('a/4')]).toEqual([
      expect.stringMatching(/^waits/),
      expect.stringMatching(/^waits/),
    ]);
    ends('a/2');
    expect([ask('a/3'), ask('a/4')]).toEqual([expect.stringMatching(/^waits/), 'now']);
  });

  it('gives an unused place to another until the owner asks again', async () => {
    const { accept, ask, release, ends, news, clock } = fleet(1);
    await accept('a/1');
    await accept('a/2');
    expect([ask('a/1'), ask('a/2')]).toEqual(['now', 'waits for 0 of 1']);
    release('a/1', 60_000);
    expect(news()).toBe('');
    await clock.advance(60_000);
    release('a/1', 60_000);
    expect(news()).toBe('a/2');
    expect([ask('a/1'), ask('a/2')]).toEqual([expect.stringMatching(/^waits/), 'now']);
    ends('a/2');
    expect(ask('a/1')).toBe('now');
  });

  it('limits each namespace to its share, deletions included, even with free places', async () => {
    const { accept, ask, runs, ends, news } = fleet(4, 2);
    for (const cluster of ['a/1', 'a/2', 'a/3']) await accept(cluster);
    await accept('a/4', 'delete');
    expect(['a/1', 'a/2', 'a/3', 'a/4'].map((cluster) => ask(cluster))).toEqual([
      'now',
      'waits for one of 2',
      'waits for one of 2',
      'now',
    ]);
    await accept('b/1');
    expect(ask('b/1')).toBe('now');
    runs('a/1');
    news();
    ends('a/1');
    expect(news()).toBe('a/2');
    expect([ask('a/2'), ask('a/3')]).toEqual(['now', 'waits for one of 2']);
  });

  it('forgets removed clusters', async () => {
    const { accept, ask, remove, news } = fleet(1);
    await accept('a/1');
    await accept('a/2');
    ask('a/1');
    ask('a/2');
    remove('a/1');
    expect(news()).toBe('a/2');
  });
});

it.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'starts no more than allowed, and each one in the end: seed %d',
  async (seed) => {
    const random = randomFrom(seed);
    const most = 1 + Math.floor(random() * 4);
    const world = fleet(most);
    const busy = new Map<string, 'waits' | 'let' | 'runs'>();
    const accepted: string[] = [];
    const began = new Set<string>();
    const step = async (n: number) => {
      const cluster = `${'abc'[Math.floor(random() * 3)]}/${n}`;
      const chance = random();
      const pick = (state: string) => [...busy].filter(([, one]) => one === state)[0]?.[0];
      if (chance < 0.35 && accepted.length < 60) {
        await world.accept(cluster, random() < 0.1 ? 'delete' : 'create');
        accepted.push(cluster);
        busy.set(cluster, 'waits');
      } else if (chance < 0.6) {
        for (const [one, state] of busy)
          if (state === 'waits' && world.ask(one) === 'now') {
            busy.set(one, 'let');
            began.add(one);
          }
      } else if (chance < 0.8) {
        const one = pick('let');
        if (one) {
          world.runs(one);
          busy.set(one, 'runs');
        }
      } else if (chance < 0.98) {
        const one = pick('runs');
        if (one) {
          world.ends(one);
          busy.delete(one);
        }
      } else if (![...busy.values()].includes('let')) world.restart();
      expect([...busy.values()].filter((state) => state !== 'waits').length).toBeLessThanOrEqual(most);
    };
    for (let n = 0; n < 2_000; n += 1) await step(n);
    expect(accepted.length).toBe(60);
    expect(began.size).toBe(60);
  },
);
