import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { KUBERNETES_CLUSTERS } from '#api/kubernetes-cluster.ts';
import { createManualClock } from '#base/testing/manual-clock.ts';
import { whileAllowed } from '../http/event-stream.ts';
import { type ReadEvent, readEvents } from '../testing/event-reader.ts';
import { type RestWorld, restWorld } from '../testing/rest-world.ts';

let world: RestWorld;
let url: string;
beforeAll(async () => {
  world = await restWorld();
  url = await world.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(() => world.stop());

const named = z.object({ metadata: z.object({ name: z.string() }) });
const make = (name: string, labels = {}) =>
  world.admin.create(KUBERNETES_CLUSTERS, {
    metadata: { namespace: world.namespace, name, labels },
    spec: { cluster: { masterList: [{ ip: '10.9.0.1' }], authConfig: { username: 'secret-user' } } },
  });
const remove = (name: string) =>
  world.admin.delete(KUBERNETES_CLUSTERS, { namespace: world.namespace, name });
const open = (query = '', last?: string, token = world.tokens.alice) =>
  readEvents(`${url}/api/v1/clusters/events?namespace=${world.namespace}${query}`, token, last);
const textOf = ({ event, data }: ReadEvent): string => {
  const object = named.safeParse(data);
  return object.success ? `${event} ${object.data.metadata.name}` : event;
};
const isNews = ({ event }: ReadEvent): boolean => event !== 'bookmark';

describe('GET /clusters/events', () => {
  it('sends all clusters, then changes, without credentials', async () => {
    await make('one');
    const stream = await open();
    const first = await stream.until(({ event }) => event === 'synced');
    expect(first.map(textOf)).toEqual(['added one', 'synced']);
    expect(JSON.stringify(first)).not.toMatch(/secret-user|managedFields/);
    await make('two');
    await remove('one');
    const news = await stream.until(({ event }) => event === 'deleted');
    expect(news.filter(isNews).map(textOf)).toEqual(['added two', 'deleted one']);
    stream.close();
  });

  it('continues after the last event of a client, without a gap or a repeat', async () => {
    const before = await open();
    const last = (await before.until(({ event }) => event === 'synced')).at(-1)?.id;
    before.close();
    await make('three');
    await make('four');
    const after = await open('', last);
    const missed = await after.until((event) => textOf(event) === 'added four');
    expect(missed.filter(isNews).map(textOf)).toEqual(['added three', 'added four']);
    after.close();
  });

  it('sends all clusters again if the last event is too old', async () => {
    const stream = await open('', '1');
    const events = await stream.until(({ event }) => event === 'synced');
    expect(events[0]?.event).toBe('reset');
    expect(events.map(textOf)).toContain('added four');
    stream.close();
  });

  it('selects by name and label', async () => {
    await make('blue', { team: 'blue' });
    for (const query of ['&name=blue', '&labelSelector=team%3Dblue']) {
      const stream = await open(query);
      expect((await stream.until(({ event }) => event === 'synced')).map(textOf)).toEqual([
        'added blue',
        'synced',
      ]);
      stream.close();
    }
    expect((await open('&labelSelector=a%3D%3D%3Db')).status).toBe(422);
  });

  it('is refused without the right to watch', async () => {
    const token = await world.accountWith([
      { apiGroups: ['ecs.yun.com'], resources: ['kubernetesclusters'], verbs: ['get', 'list'] },
    ]);
    expect((await open('', undefined, token)).status).toBe(403);
  });

  it('lets a user have 16 streams', async () => {
    const streams = await Promise.all(Array.from({ length: 16 }, () => open()));
    expect(streams.map(({ status }) => status)).toEqual(streams.map(() => 200));
    expect((await open()).status).toBe(429);
    for (const stream of streams) stream.close();
    await expect
      .poll(async () => {
        const stream = await open();
        stream.close();
        return stream.status;
      })
      .toBe(200);
  });
});

it('ends a stream within half a minute after the right is withdrawn', async () => {
  const clock = createManualClock();
  let isAllowed = true;
  let hasEnded = false;
  const sink = { send: () => {}, paced: async () => {}, signal: new AbortController().signal };
  const authorize = async () => {
    if (!isAllowed) throw new Error('may not');
  };
  const ended = whileAllowed(
    clock,
    sink,
    authorize,
    ({ signal }) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())),
  ).then(() => {
    hasEnded = true;
  });
  await clock.advance(60_000);
  expect(hasEnded).toBe(false);
  isAllowed = false;
  await clock.advance(30_000);
  await ended;
  expect(clock.timers).toBe(0);
});
