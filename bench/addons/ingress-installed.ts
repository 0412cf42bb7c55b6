import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pMap from 'p-map';
import { freePorts } from '#lab/apiserver/ports.ts';
import type { Say } from '#lab/artifacts/progress.ts';
import type { Figure } from '../figures.ts';
import { hostOf, ingressWorld, ownAddress } from './ingress-world.ts';
import { createLoad, type Side } from './load.ts';
import { endpointConfig, proxyConfig } from './nginx.ts';
import { memoryOf, pinned } from './processes.ts';

const SECONDS = 5;
const CONNECTIONS = 64;
/** A process with a limit of 20,000 open files holds 9,500. */
const IDLE = 9_000;
const HOST = hostOf(0);
/** Cores that proxies, endpoint and clients share. */
const CORES = '0,1';
const WAIT_MS = 30_000;
/** Time in which closed connections must be noticed. */
const CLEAN_UP_MS = 2_000;

/**
 * Measures the installed program, HAProxy with two threads, against Debian's nginx with two processes, on two shared cores.
 */
export async function measureInstalledIngress(say: Say): Promise<{ figures: Figure[]; lines: string[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-ingress-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const [endpointPort = 0, nginxPort = 0] = await freePorts(2);
  const [address, endpoint] = [ownAddress(), `${ownAddress()}:${endpointPort}`];
  await mkdir(join(folder, 'www'));
  await writeFile(join(folder, 'www/1k'), 'x'.repeat(1_024));
  await writeFile(join(folder, 'www/1m'), 'x'.repeat(1_048_576));
  await writeFile(join(folder, 'endpoint.conf'), endpointConfig(folder, endpoint));
  const nginxOptions = { port: nginxPort, endpoint, host: HOST, workers: 2 };
  await writeFile(join(folder, 'proxy.conf'), proxyConfig(folder, nginxOptions));
  stack.use(await pinned(CORES, ['nginx', '-c', join(folder, 'endpoint.conf')], endpointPort, address));
  const nginx: Side = {
    process: stack.use(await pinned(CORES, ['nginx', '-c', join(folder, 'proxy.conf')], nginxPort)),
    port: nginxPort,
  };
  const world = await ingressWorld(stack, new Map([['web', endpointPort]]), 1, say);
  const two = await world.proxy(2);
  await served(two);
  const one = await world.proxy(1);
  await served(one);

  const { compare } = createLoad({
    ...{ seconds: SECONDS, connections: CONNECTIONS, host: HOST },
    ...{ clientCores: CORES, proxyCores: 2 },
  });
  say('1 KiB, two threads against two processes of nginx');
  const small = await compare('1 KiB, as installed against two of nginx', 1, '/1k', two, nginx);
  say('1 MiB, two threads against two processes of nginx');
  const large = await compare('1 MiB, as installed against two of nginx', 1, '/1m', two, nginx);
  say('two threads against one');
  const each = await compare('1 KiB, two threads against one', 1, '/1k', two, one);
  say(`${IDLE} idle connections`);
  // A new proxy, which has served nothing yet.
  const fresh = await world.proxy(2);
  await served(fresh);
  const idle = await withIdle(fresh);
  return {
    figures: [
      ...[small, large].flatMap(({ figures }) => figures),
      {
        name: `memory with ${IDLE} idle connections, as installed (MiB)`,
        ours: idle.proportional,
        bound: 300,
      },
    ],
    lines: [
      small.line,
      large.line,
      `${each.line} (endpoint and clients are on the same cores)`,
      `${IDLE} idle connections: ${idle.left} were kept; ${idle.before.toFixed(0)} MiB before, then ${idle.proportional.toFixed(0)} MiB, what processes share counted once (${idle.resident.toFixed(0)} MiB resident)`,
    ],
  };
}

async function statusOf({ port }: Side): Promise<number> {
  const asked = request({ host: '127.0.0.1', port, path: '/1k', agent: false, headers: { host: HOST } });
  asked.end();
  const [answer] = await once(asked, 'response');
  answer.resume();
  return answer.statusCode;
}

async function served(side: Side): Promise<void> {
  for (const until = performance.now() + WAIT_MS; performance.now() < until; await sleep(100))
    if ((await statusOf(side).catch(() => 0)) === 200) return;
  throw new Error(`${HOST} is not served at port ${side.port}`);
}

/** Opens idle connections; each has made one request. */
async function withIdle({ port, process: { child } }: Side) {
  const before = await memoryOf(child.pid);
  const open = new Set<Socket>();
  await pMap(
    Array.from({ length: IDLE }),
    async () => {
      const socket = connect(port, '127.0.0.1');
      open.add(socket);
      socket.on('error', () => {}).once('close', () => open.delete(socket));
      socket.write(`GET /1k HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`);
      await new Promise<void>((resolve) =>
        socket.once('data', () => resolve()).once('close', () => resolve()),
      );
    },
    { concurrency: 64 },
  );
  await sleep(CLEAN_UP_MS);
  const memory = await memoryOf(child.pid);
  const left = open.size;
  for (const socket of open) socket.destroy();
  return { ...memory, left, before: before.proportional };
}
