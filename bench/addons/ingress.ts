import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '#lab/apiserver/ports.ts';
import type { Say } from '#lab/artifacts/progress.ts';
import { type Figure, median } from '../figures.ts';
import { createLoad, type Side } from './load.ts';
import { endpointConfig, proxyConfig } from './nginx.ts';
import { pinned } from './processes.ts';
import { percentile, steadyLoad } from './steady-load.ts';

const RUNS = 9;
const SECONDS = 5;
const CONNECTIONS = 32;
const MANY = 10_000;
const HOST = 'h0.example';
/** Core of the proxies; endpoint and clients use the other one. */
const PROXY_CORE = '0';
const CLIENT_CORE = '1';

/**
 * Measures HAProxy, as the proxy configures it, against Debian's nginx: one thread each on a separate core (nginx-light,
 * wrk).
 */
export async function measureIngress(say: Say): Promise<{ figures: Figure[]; lines: string[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-ingress-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const [endpointPort = 0, nginxPort = 0, fewPort = 0, manyPort = 0] = await freePorts(4);
  const endpoint = `127.0.0.1:${endpointPort}`;
  await mkdir(join(folder, 'www'));
  await writeFile(join(folder, 'www/1k'), 'x'.repeat(1_024));
  await writeFile(join(folder, 'www/1m'), 'x'.repeat(1_048_576));
  await writeFile(join(folder, 'endpoint.conf'), endpointConfig(folder, endpoint));
  const nginxOptions = { port: nginxPort, endpoint, host: HOST, workers: 1 };
  await writeFile(join(folder, 'proxy.conf'), proxyConfig(folder, nginxOptions));
  const start = async (core: string, argv: readonly string[], port: number): Promise<Side> => ({
    process: stack.use(await pinned(core, argv, port)),
    port,
  });
  const plane = (port: number, hosts: number) => {
    const program = join(import.meta.dirname, 'ingress-plane.ts');
    return start(PROXY_CORE, [process.execPath, program, `${port}`, `${hosts}`, endpoint], port);
  };
  await start(CLIENT_CORE, ['nginx', '-c', join(folder, 'endpoint.conf')], endpointPort);
  const nginx = await start(PROXY_CORE, ['nginx', '-c', join(folder, 'proxy.conf')], nginxPort);
  const few = await plane(fewPort, 10);
  const many = await plane(manyPort, MANY);
  const { load, compare } = createLoad({
    ...{ seconds: SECONDS, connections: CONNECTIONS, host: HOST },
    ...{ clientCores: CLIENT_CORE, proxyCores: 1 },
  });

  say('1 KiB, ours against nginx');
  const small = await compare('1 KiB against nginx', 1, '/1k', few, nginx);
  say('1 MiB, ours against nginx');
  const large = await compare('1 MiB against nginx', 1, '/1m', few, nginx);
  say(`${MANY} routes against 10`);
  const wide = await compare(`${MANY} routes against 10`, 0.95, '/1k', many, few);

  const whole = await load(few, '/1k');
  say('p99 at half load');
  const perSecond = whole.perSecond / 2;
  const p99 = async (port: number) => {
    const asked = { port, host: HOST, path: '/1k', perSecond, seconds: SECONDS, connections: CONNECTIONS };
    return percentile(await steadyLoad(CLIENT_CORE, asked), 0.99);
  };
  const late: { ours: number; peer: number }[] = [];
  for (let run = 0; run < RUNS; run += 1)
    late.push({ peer: await p99(nginx.port), ours: await p99(few.port) });

  return {
    figures: [
      ...[small, large, wide].flatMap(({ figures }) => figures),
      {
        name: 'p99 at half of our load (ms), against nginx',
        ours: median(late.map(({ ours }) => ours)),
        peer: median(late.map(({ peer }) => peer)),
        ...{ bound: 2, runs: late },
      },
    ],
    lines: [small.line, large.line, wide.line, `p99 at ${perSecond.toFixed(0)} requests/s`],
  };
}
