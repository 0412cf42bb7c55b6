import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { EVENTS, type Event, SERVICES, type Service } from '#api/core.ts';
import { INGRESS_CLASSES, INGRESSES, type Ingress, type IngressClass } from '#api/networking.ts';
import { NAMESPACES } from '#lab/apiserver/kinds.ts';
import { freePorts } from '#lab/apiserver/ports.ts';
import { LEASES, type Lease } from '#runtime/leader/lease.ts';
import { useApiServer } from '#runtime/testing/own-api-server.ts';
import { useNamespace } from '#runtime/testing/test-namespace.ts';
import { namespaceOf, serverNameOf } from '../../installation.ts';
import { ingress } from '../addon.ts';
import { CONTROLLER_NAME } from '../routing/classes.ts';

/**
 * Runs the controller's program twice. This file has its own API server, because other controllers would write status too.
 */
const kubeconfigPath = useApiServer();
const test = useNamespace('ingress-controllers', kubeconfigPath);
const home = namespaceOf(ingress);
const ADDRESS = [{ ip: '192.0.2.7' }];
const until = (probe: () => Promise<unknown>) => expect.poll(probe, { timeout: 40_000 });
const programs = new Map<string, { child: ChildProcess; probes: number }>();

beforeAll(async () => {
  const klass: IngressClass = { metadata: { name: 'matryoshka' }, spec: { controller: CONTROLLER_NAME } };
  await test.client.create<IngressClass>(INGRESS_CLASSES, klass);
  await test.client.create(NAMESPACES, { metadata: { name: home } });
  await test.client.create<Service>(SERVICES, {
    metadata: { namespace: home, name: serverNameOf(ingress) },
    spec: { ports: [{ port: 80 }], externalIPs: ADDRESS.map(({ ip }) => ip) },
  });
  const ports = await freePorts(2);
  for (const [at, identity] of ['one', 'two'].entries()) {
    const probes = ports[at] ?? 0;
    const args = ['controller', '--controllers=ingress', `--namespace=${home}`, `--identity=${identity}`];
    const child = spawn(
      process.execPath,
      [
        ...[join(import.meta.dirname, '../../../main.ts'), ...args, '--log-level=silent'],
        ...[`--kubeconfig=${kubeconfigPath()}`, `--probe-port=${probes}`],
      ],
      { stdio: 'inherit' },
    );
    programs.set(identity, { child, probes });
  }
});
afterAll(() => {
  for (const { child } of programs.values()) child.kill('SIGKILL');
});

const programNamed = (identity: string) => {
  const found = programs.get(identity);
  if (!found) throw new Error(`there is no program "${identity}"`);
  return found;
};
const leader = async () => {
  const lease = await test.client.find<Lease>(LEASES, { namespace: home, name: 'matryoshka-ingress' });
  return lease?.spec?.holderIdentity?.split('_')[0] ?? '';
};
const write = (name: string) =>
  test.client.create<Ingress>(INGRESSES, {
    metadata: test.key(name),
    spec: { ingressClassName: 'matryoshka', rules: [{ host: `${name}.example` }] },
  });
const addresses = async (name: string) =>
  (await test.client.get<Ingress>(INGRESSES, test.key(name))).status?.loadBalancer?.ingress;
/** Returns the number of requests to the API server, by method. */
const calls = async (identity: string) => {
  const answer = await fetch(`http://127.0.0.1:${programNamed(identity).probes}/metrics`);
  return (await answer.text()).split('\n').filter((line) => line.includes('PATCH'));
};

it('a second controller writes status only after the first one dies', async () => {
  await until(leader).toMatch(/^(one|two)$/);
  const first = await leader();
  const second = first === 'one' ? 'two' : 'one';
  const ready = () => fetch(`http://127.0.0.1:${programNamed(second).probes}/readyz`).then(({ ok }) => ok);
  await until(() => ready().catch(() => false)).toBe(true);
  await write('before');
  await until(() => addresses('before')).toEqual(ADDRESS);
  expect([(await calls(first)).length > 0, await calls(second)]).toEqual([true, []]);

  const { child } = programNamed(first);
  const dead = once(child, 'exit');
  child.kill('SIGKILL');
  await dead;
  await write('after');
  await until(() => addresses('after')).toEqual(ADDRESS);
  expect([await leader(), await addresses('before')]).toEqual([second, ADDRESS]);
}, 90_000);

// The example of the Kubernetes documentation, which names no class.
it('an Ingress without a class gets an Event, and is served once a class is the default', async () => {
  const name = 'testingress';
  const backend = { service: { name: 'nginx', port: { number: 80 } } };
  const paths = [{ path: '/', pathType: 'Prefix', backend }];
  await test.client.create<Ingress>(INGRESSES, {
    metadata: test.key(name),
    spec: { rules: [{ host: 'main.jiaozi.com', http: { paths } }] },
  });
  const reasons = async () => {
    const { items } = await test.client.list<Event>(EVENTS, { namespace: test.namespace });
    return items.map(({ reason }) => reason);
  };
  await until(reasons).toEqual(['ClassMissing']);
  expect(await addresses(name)).toBeUndefined();
  const annotations = { 'ingressclass.kubernetes.io/is-default-class': 'true' };
  await test.client.patch(
    INGRESS_CLASSES,
    { namespace: '', name: 'matryoshka' },
    { metadata: { annotations } },
    { type: 'merge' },
  );
  await until(() => addresses(name)).toEqual(ADDRESS);
}, 90_000);
