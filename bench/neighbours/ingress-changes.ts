import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pMap from 'p-map';
import { Pool } from 'undici';
import { SERVICES, type Service } from '#api/core.ts';
import {
  ENDPOINT_SLICES,
  type EndpointSlice,
  INGRESS_CLASSES,
  INGRESSES,
  type Ingress,
  type IngressClass,
  SERVICE_NAME_LABEL,
} from '#api/networking.ts';
import { freePorts } from '#lab/apiserver/ports.ts';
import { startApiServer } from '#lab/apiserver/start.ts';
import type { Say } from '#lab/artifacts/progress.ts';
import { CONTROLLER_NAME } from '#routing/classes.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { type Figure, median } from '../figures.ts';
import { pinned } from './processes.ts';

const INGRESS_COUNT = 1_000;
const CHANGES = 1_000;
const TIMED = 30;
const AT_ONCE = 8;
const ASKING = 8;
const WAIT_MS = 60_000;
const namespace = 'default';

async function answering(name: string, address: string): Promise<{ server: Server; port: number }> {
  const server = createServer((_asked, answer) => answer.end(name)).listen(0, address);
  await once(server, 'listening');
  const bound = server.address();
  return { server, port: typeof bound === 'object' && bound !== null ? bound.port : 0 };
}

const ingressTo = (service: string, at: number): Ingress & { spec: object } => ({
  metadata: { namespace, name: `i${at}` },
  spec: {
    ingressClassName: 'matryoshka',
    rules: [
      {
        host: `h${at}.example`,
        http: {
          paths: [
            { path: '/', pathType: 'Prefix', backend: { service: { name: service, port: { number: 80 } } } },
          ],
        },
      },
    ],
  },
});

async function fill(client: Client, address: string, ports: ReadonlyMap<string, number>): Promise<void> {
  const klass: IngressClass = { metadata: { name: 'matryoshka' }, spec: { controller: CONTROLLER_NAME } };
  await client.create<IngressClass>(INGRESS_CLASSES, klass);
  for (const [name, port] of ports) {
    await client.create<Service>(SERVICES, {
      metadata: { namespace, name },
      spec: { ports: [{ port: 80 }] },
    });
    const labels = { [SERVICE_NAME_LABEL]: name };
    const slice = { addressType: 'IPv4', ports: [{ name: '', port }], endpoints: [{ addresses: [address] }] };
    await client.create<EndpointSlice>(ENDPOINT_SLICES, { metadata: { namespace, name, labels }, ...slice });
  }
  const all = Array.from({ length: INGRESS_COUNT }, (_, at) => ingressTo('one', at));
  await pMap(all, (ingress) => client.create<Ingress>(INGRESSES, ingress), { concurrency: AT_ONCE });
}

/** 1,000 Ingresses on a real API server: how soon a change is served, and what 1,000 changes cost requests under way. */
export async function measureIngressChanges(say: Say): Promise<{ figures: Figure[]; lines: string[] }> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startApiServer({ say }));
  const client = createClient(await loadEndpoint({ kubeconfig: server.kubeconfigPath }), {
    userAgent: 'bench',
  });
  stack.defer(() => client.close());
  const address = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
  if (address === undefined) throw new Error('this machine has no IPv4 address besides the loopback');
  const ports = new Map<string, number>();
  for (const name of ['one', 'two']) {
    const { server: one, port } = await answering(name, address);
    stack.defer(() => one.closeAllConnections());
    ports.set(name, port);
  }
  await fill(client, address, ports);
  const [http = 0, https = 0, probes = 0] = await freePorts(3);
  const argv = [
    ...[process.execPath, join(import.meta.dirname, '../../src/main.ts'), 'ingress-proxy', '--workers=2'],
    ...[`--http-port=${http}`, `--https-port=${https}`, `--probe-port=${probes}`, '--access-log=false'],
    ...[
      `--kubeconfig=${server.kubeconfigPath}`,
      '--shed-seconds=0',
      '--drain-seconds=1',
      '--log-level=error',
    ],
  ];
  stack.use(await pinned('0,1', argv, http));
  const pool = new Pool(`http://127.0.0.1:${http}`, { connections: ASKING + 1 });
  stack.defer(() => pool.destroy());
  const ask = async (at: number): Promise<string> => {
    const { statusCode, body } = await pool.request({
      method: 'GET',
      path: '/',
      headers: { host: `h${at}.example` },
    });
    const text = await body.text();
    return statusCode === 200 ? text : `${statusCode}`;
  };
  const until = async (at: number, text: string): Promise<void> => {
    for (const end = performance.now() + WAIT_MS; (await ask(at)) !== text; )
      if (performance.now() > end) throw new Error(`h${at}.example is not answered by "${text}"`);
  };
  const lead = (at: number, to: string) =>
    client.patch(
      INGRESSES,
      { namespace, name: `i${at}` },
      { spec: ingressTo(to, at).spec },
      { type: 'merge' },
    );

  await until(INGRESS_COUNT - 1, 'one');
  say('changes of one Ingress');
  const tookMs: number[] = [];
  for (let time = 0; time < TIMED; time += 1) {
    const to = time % 2 === 0 ? 'two' : 'one';
    await lead(time, to);
    const began = performance.now();
    await until(time, to);
    tookMs.push(performance.now() - began);
  }
  say(`${CHANGES} changes under load`);
  const seen = new Map<string, number>();
  let isDone = false;
  const asking = Array.from({ length: ASKING }, async (_, first) => {
    for (let at = first; !isDone; at = (at + ASKING) % INGRESS_COUNT) {
      const answer = await ask(at).catch((error: unknown) => `${error}`);
      seen.set(answer, (seen.get(answer) ?? 0) + 1);
    }
  });
  const began = performance.now();
  await pMap(
    Array.from({ length: CHANGES }, (_, at) => at),
    (at) => lead(at % INGRESS_COUNT, at % 3 === 0 ? 'two' : 'one'),
    { concurrency: AT_ONCE },
  );
  await sleep(500);
  isDone = true;
  await Promise.all(asking);
  const took = (performance.now() - began) / 1_000;
  const [all, well] = [
    [...seen.values()].reduce((sum, one) => sum + one, 0),
    (seen.get('one') ?? 0) + (seen.get('two') ?? 0),
  ];
  return {
    figures: [
      { name: `change to effect with ${INGRESS_COUNT} Ingresses (ms)`, ours: median(tookMs), bound: 100 },
      { name: `requests dropped by ${CHANGES} changes`, ours: all - well, bound: 0 },
    ],
    lines: [
      `change to effect: at most ${Math.max(...tookMs).toFixed(0)} ms of ${TIMED}, from the API server’s answer on`,
      `${CHANGES} changes in ${took.toFixed(1)} s, ${all} requests meanwhile: ${JSON.stringify(Object.fromEntries(seen))}`,
    ],
  };
}
