import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import pMap from 'p-map';
import { Pool } from 'undici';
import { INGRESSES } from '#api/networking.ts';
import type { Say } from '#lab/artifacts/progress.ts';
import { type Figure, spread } from '../figures.ts';
import { hostOf, ingressTo, ingressWorld, namespace, ownAddress } from './ingress-world.ts';

const INGRESS_COUNT = 1_000;
const CHANGES = 1_000;
const TIMED = 30;
const AT_ONCE = 8;
/** Connections during the measurement: half of them persistent, half new. */
const ASKING = 8;
const WAIT_MS = 60_000;
/** So many equal responses in a row come from all processes, so each process has the change. */
const IN_A_ROW = 8;

async function answering(name: string, address: string): Promise<{ server: Server; port: number }> {
  const server = createServer((_asked, answer) => answer.end(name)).listen(0, address);
  await once(server, 'listening');
  const bound = server.address();
  return { server, port: typeof bound === 'object' && bound !== null ? bound.port : 0 };
}

/**
 * Measures 1,000 Ingresses on a real API server: the delay of a change, and the cost of 1,000 changes for running requests.
 */
export async function measureIngressChanges(say: Say): Promise<{ figures: Figure[]; lines: string[] }> {
  await using stack = new AsyncDisposableStack();
  const ports = new Map<string, number>();
  for (const name of ['one', 'two']) {
    const { server: one, port } = await answering(name, ownAddress());
    stack.defer(() => {
      one.close();
      one.closeAllConnections();
    });
    ports.set(name, port);
  }
  const { client, proxy } = await ingressWorld(stack, ports, INGRESS_COUNT, say);
  const { port } = await proxy(2);
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: ASKING });
  stack.defer(() => pool.destroy());
  const ask = async (at: number): Promise<string> => {
    const { statusCode, body } = await pool.request({
      method: 'GET',
      path: '/',
      headers: { host: hostOf(at) },
    });
    const text = await body.text();
    return statusCode === 200 ? text : `${statusCode}`;
  };
  const askAnew = async (at: number): Promise<string> => {
    const to = { host: '127.0.0.1', port, path: '/', agent: false, headers: { host: hostOf(at) } } as const;
    const [answer] = await once(request(to).end(), 'response');
    let text = '';
    for await (const bytes of answer) text += `${bytes}`;
    return answer.statusCode === 200 ? text : `${answer.statusCode}`;
  };
  /** Resolves to the time since which each new connection got this response, from any process. */
  const until = async (at: number, text: string): Promise<number> => {
    let since = 0;
    let inARow = 0;
    for (const end = performance.now() + WAIT_MS; inARow < IN_A_ROW; ) {
      const answer = await askAnew(at);
      if (answer !== text) inARow = 0;
      else if (inARow++ === 0) since = performance.now();
      if (performance.now() > end) throw new Error(`${hostOf(at)} is not answered by "${text}"`);
    }
    return since;
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
    await lead(time, 'two');
    const began = performance.now();
    tookMs.push((await until(time, 'two')) - began);
  }
  say(`${CHANGES} changes under load`);
  const seen = new Map<string, number>();
  let isDone = false;
  const asking = Array.from({ length: ASKING }, async (_, first) => {
    for (let at = first; !isDone; at = (at + ASKING) % INGRESS_COUNT) {
      const answer = await (first % 2 === 0 ? ask : askAnew)(at).catch((error: unknown) => `${error}`);
      seen.set(answer, (seen.get(answer) ?? 0) + 1);
    }
  });
  const began = performance.now();
  await pMap(
    Array.from({ length: CHANGES }, (_, at) => at),
    // Each Ingress points at another Service than before.
    (at) => lead(at % INGRESS_COUNT, at < TIMED ? 'one' : 'two'),
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
      {
        name: `change to effect with ${INGRESS_COUNT} Ingresses, the longest of ${TIMED} (ms)`,
        ...{ ours: Math.max(...tookMs), bound: 100 },
      },
      { name: `requests dropped by ${CHANGES} changes`, ours: all - well, bound: 0 },
    ],
    lines: [
      `change to effect in both processes: ${spread(tookMs)} ms from the API server’s answer on`,
      `${CHANGES} changes in ${took.toFixed(1)} s, ${all} requests meanwhile: ${JSON.stringify(Object.fromEntries(seen))}`,
    ],
  };
}
