import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pMap from 'p-map';
import { freePorts } from '#lab/apiserver/ports.ts';
import type { Say } from '#lab/artifacts/progress.ts';
import { type Figure, median } from '../figures.ts';
import { memoryOf, type Pinned, pinned, processorTimeOf, requestsWithin } from './processes.ts';
import { percentile, steadyLoad } from './steady-load.ts';

const RUNS = 3;
const SECONDS = 5;
const CONNECTIONS = 32;
const IDLE = 10_000;
const MANY = 10_000;
const HOST = 'h0.example';
/** Of the proxies; endpoint and clients are on the other one. */
const PROXY_CORE = '0';

const common = (folder: string, name: string) => `worker_processes 1; daemon off; user root;
pid ${folder}/${name}.pid; error_log ${folder}/${name}.log;
events { worker_connections 20000; }`;
const endpointConfig = (folder: string, port: number) => `${common(folder, 'endpoint')}
http { access_log off; sendfile on; keepalive_requests 1000000000;
  server { listen 127.0.0.1:${port} backlog=4096; root ${folder}/www; } }`;
/** What an Ingress asks for: the host goes on, with where the request came from; nothing is buffered. */
const proxyConfig = (folder: string, port: number, endpoint: number) => `${common(folder, 'proxy')}
http { access_log off; keepalive_requests 1000000000;
  upstream endpoint { server 127.0.0.1:${endpoint}; keepalive 256; keepalive_requests 1000000000; }
  server { listen 127.0.0.1:${port} backlog=4096; server_name ${HOST};
    location / { proxy_pass http://endpoint; proxy_http_version 1.1; proxy_buffering off; proxy_request_buffering off;
      proxy_set_header Connection ""; proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Host $http_host; proxy_set_header X-Forwarded-Port $server_port;
      proxy_set_header X-Forwarded-Proto $scheme; } } }`;

/** A process under load. */
interface Side {
  process: Pinned;
  port: number;
}
interface Load {
  perSecond: number;
  coreMs: number;
}

/** The proxy of Ingresses against Debian's nginx, one serving process each on a core of its own (nginx-light, wrk). */
export async function measureIngress(say: Say): Promise<{ figures: Figure[]; lines: string[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-ingress-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const [endpoint = 0, nginxPort = 0, fewPort = 0, manyPort = 0] = await freePorts(4);
  await mkdir(join(folder, 'www'));
  await writeFile(join(folder, 'www/1k'), 'x'.repeat(1_024));
  await writeFile(join(folder, 'www/1m'), 'x'.repeat(1_048_576));
  await writeFile(join(folder, 'endpoint.conf'), endpointConfig(folder, endpoint));
  await writeFile(join(folder, 'proxy.conf'), proxyConfig(folder, nginxPort, endpoint));
  const start = async (core: string, argv: readonly string[], port: number): Promise<Side> => ({
    process: stack.use(await pinned(core, argv, port)),
    port,
  });
  const plane = (port: number, hosts: number) =>
    start(
      PROXY_CORE,
      [
        process.execPath,
        '--max-semi-space-size=16',
        join(import.meta.dirname, 'ingress-plane.ts'),
        ...[`${port}`, `${hosts}`, `127.0.0.1:${endpoint}`],
      ],
      port,
    );
  await start('1', ['nginx', '-c', join(folder, 'endpoint.conf')], endpoint);
  const nginx = await start(PROXY_CORE, ['nginx', '-c', join(folder, 'proxy.conf')], nginxPort);
  const few = await plane(fewPort, 10);
  const many = await plane(manyPort, MANY);

  /** Requests a second, and milliseconds of a core for each: what other work on the machine changes least. */
  async function load({ process, port }: Side, path: string): Promise<Load> {
    const before = await processorTimeOf(process.child.pid);
    const url = `http://127.0.0.1:${port}${path}`;
    const requests = await requestsWithin(SECONDS, CONNECTIONS, url, HOST);
    const used = (await processorTimeOf(process.child.pid)) - before;
    return { perSecond: requests / SECONDS, coreMs: (used * 1_000) / requests };
  }
  const lines: string[] = [];
  /** Of both in turn. A core that does nothing else answers as many as fit into its time. */
  async function compare(what: string, bound: number, path: string, ours: Side, peer: Side): Promise<Figure> {
    say(what);
    await load(ours, path);
    const runs: { ours: Load; peer: Load }[] = [];
    for (let run = 0; run < RUNS; run += 1)
      runs.push({ peer: await load(peer, path), ours: await load(ours, path) });
    const middle = (side: 'ours' | 'peer', value: keyof Load) => median(runs.map((run) => run[side][value]));
    const rates = (['ours', 'peer'] as const).map((side) => middle(side, 'perSecond').toFixed(0));
    lines.push(`${what}: ${rates.join(' and ')} requests/s on a machine that does other work as well`);
    return {
      ...{ name: `core time of ${what} (ms)`, bound },
      ...{ ours: middle('ours', 'coreMs'), peer: middle('peer', 'coreMs') },
      runs: runs.map((run) => ({ ours: run.ours.coreMs, peer: run.peer.coreMs })),
    };
  }

  const small = await compare('1 KiB, ours against nginx', 1 / 0.5, '/1k', few, nginx);
  const large = await compare('1 MiB, ours against nginx', 1 / 0.8, '/1m', few, nginx);
  const wide = await compare(`${MANY} routes against 10`, 1 / 0.95, '/1k', many, few);

  say('p99 at half load');
  const perSecond = (await load(few, '/1k')).perSecond / 2;
  const p99 = async (port: number) => {
    const load = { port, host: HOST, path: '/1k', perSecond, seconds: SECONDS, connections: CONNECTIONS };
    return percentile(await steadyLoad(load), 0.99);
  };
  const late: { ours: number; peer: number }[] = [];
  for (let run = 0; run < RUNS; run += 1)
    late.push({ peer: await p99(nginx.port), ours: await p99(few.port) });

  const held = await withIdle(few);
  return {
    figures: [
      small,
      large,
      {
        name: 'p99 at half of our load (ms), against nginx',
        ours: median(late.map(({ ours }) => ours)),
        peer: median(late.map(({ peer }) => peer)),
        ...{ bound: 2, runs: late },
      },
      wide,
      { name: `memory with ${IDLE} idle connections (MiB)`, ours: held, bound: 300 },
    ],
    lines,
  };
}

/** Each has made one request before. */
async function withIdle({ port, process: { child } }: Side): Promise<number> {
  const sockets = await pMap(
    Array.from({ length: IDLE }),
    async () => {
      const socket = connect(port, '127.0.0.1');
      socket.write(`GET /1k HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`);
      await once(socket, 'data');
      return socket.resume();
    },
    { concurrency: 64 },
  );
  const memory = await memoryOf(child.pid);
  for (const socket of sockets) socket.destroy();
  return memory;
}
