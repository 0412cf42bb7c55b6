import { describe, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { expiredWatch, refusal } from '#lab/fault-proxy/faults.ts';
import { CONFIG_MAPS, type ConfigMap, useNamespace } from '#runtime/testing/test-namespace.ts';
import { eventually, runInformers, seeded, useProxy, versions, within } from './world.ts';

const test = useNamespace('watches');
const world = useProxy(test);
const { namespace, key } = test;
const log = createLogger('silent');

const withData = (name: string, data: Record<string, string>): ConfigMap => ({ metadata: key(name), data });
const put = (name: string, data: Record<string, string>) =>
  test.client.apply<ConfigMap>(CONFIG_MAPS, withData(name, data), { fieldManager: 'test' });
const drop = (name: string) => test.client.delete(CONFIG_MAPS, key(name));
const onServer = async () => versions((await test.client.list(CONFIG_MAPS, { namespace })).items);

describe('watches that are interrupted (rows 4 and 6)', () => {
  it('continue from their version: no event lost, and no list', async () => {
    const { proxy } = world;
    const client = world.client();
    await using caches = runInformers();
    const informers = await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        caches.start({ client, selection: { namespace }, log, random: seeded(at + 1) }),
      ),
    );
    const seen = informers.map((informer) => {
      const names: string[] = [];
      informer.addHandler({
        add: ({ metadata }) => names.push(`+${metadata.name}`),
        delete: ({ metadata }, { stale }) => names.push(`-${metadata.name}${stale ? '?' : ''}`),
      });
      names.length = 0;
      return names;
    });
    const lists = proxy.count((request) => request.lists);
    for (const round of [1, 2, 3]) {
      await put(`kept-${round}`, { round: String(round) });
      await put(`gone-${round}`, {});
      proxy.reset();
      await drop(`gone-${round}`);
      await put(`late-${round}`, {});
    }
    const state = await onServer();
    for (const informer of informers) {
      await eventually(informer, 'the state of the server', () =>
        state.every((one, at) => versions(informer.list())[at] === one),
      );
    }
    const all = [1, 2, 3].flatMap((n) => [`+kept-${n}`, `+gone-${n}`, `-gone-${n}`, `+late-${n}`]);
    for (const names of seen) expect(names.filter((name) => all.includes(name))).toEqual(all);
    expect(proxy.count((request) => request.lists)).toBe(lists);
  });

  it('list once each when their version has expired, spread over time', async () => {
    const { proxy } = world;
    const client = world.client();
    await using caches = runInformers();
    const informers = await Promise.all(
      Array.from({ length: 12 }, (_, at) =>
        caches.start({
          client,
          // A different selector for each, all of which match every object.
          selection: { namespace, labelSelector: `never!=${at}` },
          log,
          random: seeded(at + 7),
        }),
      ),
    );
    const from = proxy.requests.length;
    const reported = new Set<string | null>();
    proxy.setRules(({ watch, lists, query }) => {
      const selector = query.get('labelSelector');
      if (!watch || lists || reported.has(selector)) return undefined;
      reported.add(selector);
      return expiredWatch();
    });
    proxy.reset();
    await put('after-410', {});
    await Promise.all(
      informers.map((informer) =>
        eventually(informer, 'what came after the 410', () => informer.get(key('after-410')) !== undefined),
      ),
    );
    const lists = proxy.requests.slice(from).filter((request) => request.lists);
    expect(lists).toHaveLength(informers.length);
    const times = lists.map(({ atMs }) => atMs);
    expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(400);
  });

  it('back off from a server that answers only refusals', async () => {
    const { proxy } = world;
    const answers = { gone: refusal(410), failing: refusal(500), 'gone-later': expiredWatch() };
    const cases = Object.keys(answers).map((name) => `case=${name}`);
    const client = world.client();
    await using caches = runInformers();
    await Promise.all(
      cases.map((labelSelector) =>
        caches.start({ client, selection: { namespace, labelSelector }, log, random: () => 0 }),
      ),
    );
    const from = proxy.requests.length;
    proxy.setRules(({ query }) => {
      const found = Object.entries(answers).find(([name]) => query.get('labelSelector') === `case=${name}`);
      return found?.[1];
    });
    proxy.reset();
    const triesOf = (selector: string) =>
      proxy.requests.slice(from).filter(({ query }) => query.get('labelSelector') === selector);
    for (const selector of cases) {
      const second = () => triesOf(selector).length >= 2;
      await within(proxy.seen(second), 10_000, `a second try with ${selector}`);
      const [first, next] = triesOf(selector);
      // 0.8 s after the cut, then 1.6 s, 3.2 s, …: informer.test.ts proves the doubling with a fake clock.
      expect((next?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThan(1500);
    }
  });
});
