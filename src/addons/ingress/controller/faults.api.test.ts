import { afterAll, beforeAll, expect, it } from 'vitest';
import { SERVICES, type Service } from '#api/core.ts';
import type { KubeObject } from '#api/meta.ts';
import {
  INGRESS_CLASSES,
  INGRESSES,
  type Ingress,
  type IngressAddress,
  type IngressClass,
} from '#api/networking.ts';
import { NAMESPACES } from '#lab/apiserver/kinds.ts';
import type { Client } from '#runtime/client/client.ts';
import { useAddon } from '../../testing/addon-world.fixture.ts';
import { beginLife, FATES, type Fate, type Lived, livesThat } from '../../testing/every-write.fixture.ts';
import { within } from '../../testing/seeing.fixture.ts';
import { ingress } from '../addon.ts';
import { CONTROLLER_NAME } from '../routing/classes.ts';

/**
 * Runs a scenario in which the controller dies before or after each of its writes, or in which the answer to each is lost. A
 * new controller takes over, and the end is always the same.
 */
const PROXY = 'matryoshka-ingress-server';
const test = useAddon({ ...ingress, module: () => [] });
let client: Client;

/** Classes with a separate controller name, for Ingresses that other controllers on this API server must not serve. */
const className = `${test.namespace}-class`;
const asOurs = <T extends KubeObject>(object: T): T =>
  object.metadata.name === className ? { ...object, spec: { controller: CONTROLLER_NAME } } : object;

beforeAll(async () => {
  client = await test.clientAs('matryoshka-ingress');
  const spec = { controller: 'example.com/of-a-test' };
  await test.client.create<IngressClass>(INGRESS_CLASSES, { metadata: { name: className }, spec });
});
afterAll(async () => {
  await client.close();
  await test.client.delete(INGRESS_CLASSES, { namespace: '', name: className });
});

async function live(name: string, fate?: Fate): Promise<Lived> {
  const namespace = `${test.namespace}-${name}`;
  const [key, proxy] = [
    { namespace, name: 'web' },
    { namespace, name: PROXY },
  ];
  await test.client.create(NAMESPACES, { metadata: { name: namespace } });
  await using life = beginLife({
    ...{ client, namespace, fate },
    sight: (resource) =>
      resource.kind === INGRESS_CLASSES.kind ? { transform: asOurs } : within(namespace)(resource),
    module: () => ingress.module,
  });
  const balanced = async (addresses: readonly IngressAddress[], which = SERVICES, where = proxy) => {
    const status = { loadBalancer: { ingress: addresses } };
    await test.client.patch(which, where, { status }, { type: 'merge', subresource: 'status' });
  };
  const appears = async (ip: string) => {
    await test.client.create<Service>(SERVICES, {
      metadata: proxy,
      spec: { type: 'LoadBalancer', ports: [{ port: 80 }] },
    });
    await balanced([{ ip }]);
  };
  const served = async () => {
    const { status } = await test.client.get<Ingress>(INGRESSES, key);
    return status?.loadBalancer?.ingress?.map(({ ip, hostname }) => ip ?? hostname) ?? [];
  };
  const until = (addresses: readonly string[]) =>
    expect.poll(served, { timeout: 60_000, interval: 30 }).toEqual(addresses);
  const reported: string[] = [];
  const rest = async () => {
    for (const one of await life.writesAtRest()) reported.push(`${one} though nothing was to be done`);
  };

  const backend = { service: { name: 'none', port: { number: 80 } } };
  const http = { paths: [{ path: '/', pathType: 'Prefix', backend }] };
  const spec = { ingressClassName: className, rules: [{ host: `${namespace}.example`, http }] };
  await appears('192.0.2.7');
  await test.client.create<Ingress>(INGRESSES, { metadata: key, spec });
  await until(['192.0.2.7']);
  // Another client overwrites the status.
  await balanced([{ ip: '192.0.2.66' }], INGRESSES, key);
  await until(['192.0.2.7']);
  await balanced([{ hostname: 'balancer.example' }]);
  await until(['balancer.example']);
  await test.client.delete(SERVICES, proxy);
  await until([]);
  await appears('192.0.2.9');
  await until(['192.0.2.9']);
  await rest();
  const theirs = { spec: { ingressClassName: `${className}-of-others` } };
  await test.client.patch(INGRESSES, key, theirs, { type: 'merge' });
  await balanced([{ ip: '192.0.2.66' }], INGRESSES, key);
  await rest();
  if ((await served()).join() !== '192.0.2.66')
    reported.push('the status of another controller’s is written');
  await test.client.delete(NAMESPACES, { namespace: '', name: namespace });
  return { writes: life.writes, isMet: life.isMet, reported };
}

it.each(FATES)(
  'the scenario has the same end whichever write the controller %s',
  async (kind) => {
    const { met, wrong } = await livesThat(kind, live);
    expect(wrong).toEqual([]);
    expect(met).toBeGreaterThanOrEqual(5);
  },
  300_000,
);
