import { afterAll, describe, expect, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import { NODES, type Node, PODS, type Pod, SERVICES, type Service } from '#api/core.ts';
import { useAddon } from '../testing/addon-world.fixture.ts';
import { localService } from './addon.ts';
import { LOCAL_SERVICES, type LocalService, type LocalServiceSpec, RACK_LABEL } from './api.ts';

const test = useAddon(localService);
afterAll(async () => {
  for (const name of names) await test.client.delete(NODES, { namespace: '', name }).catch(() => {});
});

const names = new Set<string>();
/** Returns a node name that is unique to this file, because all files share the API server. */
const nodeName = (short: string): string => `${test.namespace}-${short}`;
async function node(short: string, labels: Record<string, string> = {}): Promise<string> {
  const name = nodeName(short);
  names.add(name);
  const metadata = { name, labels: { test: test.namespace, ...labels } };
  await test.client.apply<Node>(NODES, { metadata }, { fieldManager: 'test', force: true });
  return name;
}
const spec = (more: Partial<LocalServiceSpec> = {}): LocalServiceSpec => ({
  nodeSelector: { test: test.namespace },
  selector: { app: 'demo' },
  ports: [{ port: 8080 }],
  ...more,
});
const make = (name: string, more: Partial<LocalServiceSpec> = {}): Promise<LocalService> =>
  test.client.create<LocalService>(LOCAL_SERVICES, { metadata: test.key(name), spec: spec(more) });
type Change = { [field in keyof LocalServiceSpec]?: LocalServiceSpec[field] | null };
const change = (name: string, change: Change): Promise<LocalService> =>
  test.client.patch<LocalService>(LOCAL_SERVICES, test.key(name), { spec: change }, { type: 'merge' });
const get = (name: string) => test.client.get<LocalService>(LOCAL_SERVICES, test.key(name));
const servicesOf = async (owner: string): Promise<Service[]> =>
  (await test.client.list<Service>(SERVICES, { namespace: test.namespace, labelSelector: `owner=${owner}` }))
    .items;
const namesOf = async (owner: string): Promise<string[]> =>
  (await servicesOf(owner)).map(({ metadata }) => metadata.name ?? '').sort();
const ready = async (name: string) => findCondition((await get(name)).status?.conditions, 'Ready');
const until = (probe: () => Promise<unknown>) => expect.poll(probe, { timeout: 15_000 });
const remove = (name: string) => test.client.delete(LOCAL_SERVICES, test.key(name));

describe('a LocalService', () => {
  it('has a Service for each node that matches, and follows nodes, labels and its own fields', async () => {
    const [one, two] = [await node('a', { disk: 'ssd' }), await node('b')];
    await make('follow');
    await until(() => namesOf('follow')).toEqual([`follow-${one}`, `follow-${two}`]);
    const [first] = await servicesOf('follow');
    expect(first?.spec).toMatchObject({
      selector: { app: 'demo', [RACK_LABEL]: one },
      ports: [{ port: 8080, targetPort: 8080, protocol: 'TCP' }],
    });
    await until(async () => (await get('follow')).status).toMatchObject({ nodes: 2, services: 2 });
    const three = await node('c');
    await until(() => namesOf('follow')).toEqual([one, two, three].map((name) => `follow-${name}`));
    await test.client.delete(NODES, { namespace: '', name: two });
    await until(() => namesOf('follow')).toEqual([`follow-${one}`, `follow-${three}`]);
    await change('follow', { nodeSelector: { test: test.namespace, disk: 'ssd' } });
    await until(() => namesOf('follow')).toEqual([`follow-${one}`]);
    const [before] = await servicesOf('follow');
    await change('follow', { ports: [{ port: 9090, targetPort: 'web' }], sessionAffinity: 'ClientIP' });
    await until(async () => (await servicesOf('follow'))[0]?.spec).toMatchObject({
      ports: [{ port: 9090, targetPort: 'web' }],
      sessionAffinity: 'ClientIP',
      clusterIP: before?.spec?.clusterIP,
    });
    expect((await servicesOf('follow'))[0]?.metadata.uid).toBe(before?.metadata.uid);
    await node('a', { disk: 'hdd' });
    await until(() => namesOf('follow')).toEqual([]);
    await until(() => ready('follow')).toMatchObject({ status: 'False', reason: 'NoNodes' });
    await remove('follow');
  });

  it('restores the default of a field that was removed', async () => {
    await node('d');
    await make('outside', { type: 'NodePort', externalTrafficPolicy: 'Local' });
    const policy = async () => (await servicesOf('outside'))[0]?.spec?.externalTrafficPolicy;
    await until(policy).toBe('Local');
    await change('outside', { externalTrafficPolicy: null });
    await until(policy).toBe('Cluster');
    await remove('outside');
  });

  it('is created from the example', async () => {
    const name = await test.makeExample();
    const on = await node('linux', { 'kubernetes.io/os': 'linux' });
    await until(() => namesOf(name)).toContain(`${name}-${on}`);
    await remove(name);
  });

  it('is deleted with its Services', async () => {
    const name = `going-${await node('g')}`;
    await make('going');
    await until(() => namesOf('going')).toContain(name);
    await remove('going');
    // The garbage collector discovers new kinds every 30 s.
    await expect.poll(() => namesOf('going'), { timeout: 100_000 }).toEqual([]);
  }, 120_000);

  it('restores Services that a user changed or deleted', async () => {
    const name = `kept-${await node('k')}`;
    await make('kept');
    await until(() => namesOf('kept')).toContain(name);
    const spoil = { spec: { selector: { app: 'other', [RACK_LABEL]: null } } };
    await test.client.patch(SERVICES, test.key(name), spoil, { type: 'merge' });
    const present = async () => (await test.client.find<Service>(SERVICES, test.key(name)))?.spec?.selector;
    await until(present).toEqual({ app: 'demo', [RACK_LABEL]: nodeName('k') });
    await test.client.delete(SERVICES, test.key(name));
    await until(present).toEqual({ app: 'demo', [RACK_LABEL]: nodeName('k') });
    await remove('kept');
  });

  it('becomes headless and back', async () => {
    const name = `head-${await node('h')}`;
    await make('head');
    const address = async () => (await test.client.find<Service>(SERVICES, test.key(name)))?.spec?.clusterIP;
    await until(address).toMatch(/\d/);
    await change('head', { clusterIP: 'None' });
    await until(address).toBe('None');
    await change('head', { clusterIP: '' });
    await until(address).toMatch(/\d/);
    await remove('head');
  });

  it('leaves a foreign Service alone, reports it, and takes the name once it is free', async () => {
    const name = `taken-${await node('t')}`;
    const theirs: Service = {
      metadata: test.key(name),
      spec: { ports: [{ port: 1 }], selector: { a: 'b' } },
    };
    await test.client.create(SERVICES, theirs);
    await make('taken');
    await until(() => ready('taken')).toMatchObject({ status: 'False', reason: 'ErrResourceExists' });
    expect((await ready('taken'))?.message).toContain(name);
    await until(() => test.reported()).toContainEqual(
      expect.stringMatching(`Warning ErrResourceExists: .*${name}`),
    );
    expect((await test.client.get<Service>(SERVICES, test.key(name))).spec?.selector).toEqual({ a: 'b' });
    await test.client.delete(SERVICES, test.key(name));
    await until(() => namesOf('taken')).toContain(name);
    await until(() => ready('taken')).toMatchObject({ status: 'True' });
    await remove('taken');
  });

  it('names the Service of a node with dots by dashes, and keeps that name', async () => {
    const label = { kind: 'dotted' };
    const dotted = await node('d.example.com', label);
    await make('dots', { nodeSelector: { ...label, test: test.namespace } });
    const dashed = `dots-${nodeName('d-example-com')}`;
    await until(() => namesOf('dots')).toEqual([dashed]);
    await until(async () =>
      findCondition((await get('dots')).status?.conditions, 'PlainNames'),
    ).toMatchObject({
      status: 'True',
    });
    await node('d-example-com', label);
    await until(() => namesOf('dots')).toHaveLength(2);
    const [first] = (await servicesOf('dots')).filter(({ metadata }) => metadata.name === dashed);
    expect(first?.spec?.selector?.[RACK_LABEL]).toBe(dotted);
    await remove('dots');
  });

  it('avoids the Service names of another LocalService', async () => {
    const label = { kind: 'ambiguous' };
    const long = await node('x', label);
    // "two-<ns>" with node "x" and "two" with node "<ns>-x" give the same name.
    const [whole, rest] = [`two-${test.namespace}`, long.slice(test.namespace.length + 1)];
    names.add(rest);
    await test.client.apply<Node>(
      NODES,
      { metadata: { name: rest, labels: label } },
      { fieldManager: 'test' },
    );
    await make('two', { nodeSelector: { ...label, test: test.namespace } });
    const plain = `two-${long}`;
    await until(() => namesOf('two')).toEqual([plain]);
    await make(whole, { nodeSelector: label });
    await until(() => namesOf(whole)).toHaveLength(2);
    const short = (await namesOf(whole)).filter((name) => /-[a-z0-9]{8}$/.test(name));
    expect(short.length).toBeGreaterThan(0);
    const { status } = await get(whole);
    expect(findCondition(status?.conditions, 'PlainNames')).toMatchObject({
      status: 'False',
      reason: 'Shortened',
    });
    expect(status?.shortened?.map(({ service }) => service)).toEqual(short);
    // The plain name is free again, but clients already know the other one.
    const given = await namesOf(whole);
    await remove('two');
    await until(() => namesOf('two')).toEqual([]);
    await change(whole, { ports: [{ port: 9090 }] });
    await until(async () => (await servicesOf(whole)).map(({ spec }) => spec?.ports?.[0]?.port)).toEqual(
      given.map(() => 9090),
    );
    expect(await namesOf(whole)).toEqual(given);
    await remove(whole);
  });
});

describe('label vm/rack', () => {
  const pod = (name: string, app: string, on?: string): Pod => ({
    metadata: { ...test.key(name), labels: { app, [RACK_LABEL]: 'a-lie' } },
    spec: {
      ...(on === undefined ? {} : { nodeName: on }),
      ...{ containers: [{ name: 'c', image: 'none' }], automountServiceAccountToken: false },
    },
  });
  const rack = async (name: string) =>
    (await test.client.get<Pod>(PODS, test.key(name))).metadata.labels?.[RACK_LABEL];

  it('is kept correct on pods that a LocalService selects, and on no other', async () => {
    const on = await node('p');
    await test.client.create(PODS, pod('early', 'labelled', on));
    await test.client.create(PODS, pod('other', 'unlabelled', on));
    await make('racks', { selector: { app: 'labelled' } });
    await until(() => rack('early')).toBe(on);
    await test.client.create(PODS, pod('late', 'labelled', on));
    await until(() => rack('late')).toBe(on);
    const before = await test.client.get<Pod>(PODS, test.key('early'));
    const lie = { metadata: { labels: { [RACK_LABEL]: 'elsewhere' } } };
    await test.client.patch(PODS, test.key('early'), lie, { type: 'merge' });
    await until(() => rack('early')).toBe(on);
    const writers = before.metadata.managedFields?.filter((one) =>
      JSON.stringify(one).includes('localservice'),
    );
    expect(JSON.stringify(writers)).toContain(`"f:${RACK_LABEL}"`);
    expect(await rack('other')).toBe('a-lie');
    await remove('racks');
  });

  it('follows the selector to other pods, as the Services do', async () => {
    const on = await node('s');
    for (const app of ['former', 'next']) await test.client.create(PODS, pod(app, app, on));
    await make('selects', { selector: { app: 'former' } });
    await until(() => rack('former')).toBe(on);
    expect(await rack('next')).toBe('a-lie');
    const service = () => test.client.find<Service>(SERVICES, test.key(`selects-${on}`));
    await until(service).toMatchObject({ spec: { selector: { app: 'former' } } });
    const before = await service();
    await test.client.patch(
      LOCAL_SERVICES,
      test.key('selects'),
      [{ op: 'replace', path: '/spec/selector', value: { tier: 'next' } }],
      { type: 'json' },
    );
    await until(service).toMatchObject({ spec: { selector: { tier: 'next', [RACK_LABEL]: on } } });
    const after = await service();
    expect(after?.spec?.selector).toEqual({ tier: 'next', [RACK_LABEL]: on });
    expect([after?.metadata.uid, after?.spec?.clusterIP]).toEqual([
      before?.metadata.uid,
      before?.spec?.clusterIP,
    ]);
    // A pod that gets the label later is selected too.
    const label = { metadata: { labels: { tier: 'next' } } };
    await test.client.patch(PODS, test.key('next'), label, { type: 'merge' });
    await until(() => rack('next')).toBe(on);
    await remove('selects');
  });
});

describe('bad input', () => {
  it.each([
    ['externalIPs', { externalIPs: ['192.0.2.1'] }, /spec\.externalIPs.*several Services/],
    ['a nodePort', { ports: [{ port: 80, nodePort: 30_000 }] }, /spec\.ports.*nodePort/],
    ['a port that is none', { ports: [{ port: 70_000 }] }, /spec\.ports\[0\]\.port/],
    ['no port', { ports: [] }, /spec\.ports/],
    ['ports without names', { ports: [{ port: 1 }, { port: 2 }] }, /must have a name/],
    ['an empty selector', { selector: {} }, /spec\.selector/],
    ['its own label', { selector: { [RACK_LABEL]: 'x' } }, /becomes each node/],
  ])('is refused with its field: %s', async (_what, more, says) => {
    await expect(make('bad', more)).rejects.toThrow(says);
  });

  it('is refused with a name that cannot begin the name of a Service', async () => {
    await expect(make('1.bad')).rejects.toThrow(/letter first/);
  });
});
