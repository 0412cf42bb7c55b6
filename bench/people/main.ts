import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { execa } from 'execa';
import { KUBERNETES_CLUSTERS } from '#api/kubernetes-cluster.ts';
import { messageOf } from '#base/errors.ts';
import { createServerCertificates } from '#lab/apiserver/certificates.ts';
import { sayOnStderr as say } from '#lab/artifacts/progress.ts';
import { restWorld } from '../../src/server/testing/rest-world.ts';
import { type Figure, isShort, median, row, spread } from '../figures.ts';
import { pageFigures } from './page.ts';

/** Figures of what people use (`make bench-people`): the bundled command against bare node, in turn, and the web page. */

const RUNS = 15;
const CLUSTERS = 20;
const run = promisify(execFile);

/** Returns the milliseconds of each of several commands, run in turn. */
async function inTurn(commands: Readonly<Record<string, readonly string[]>>, home: string) {
  const times = new Map(Object.keys(commands).map((name): [string, number[]] => [name, []]));
  const env = { HOME: home, PATH: process.env['PATH'] };
  // The first round fills caches of the disk.
  for (let round = -1; round < RUNS; round += 1)
    for (const [name, args] of Object.entries(commands)) {
      const begun = performance.now();
      await run(process.execPath, [...args], { env });
      if (round >= 0) times.get(name)?.push(performance.now() - begun);
    }
  return (name: string): number[] => times.get(name) ?? [];
}

async function commandFigures(): Promise<Figure[]> {
  const home = await mkdtemp(join(tmpdir(), 'people-'));
  const dist = join(home, 'dist');
  await execa(process.execPath, [join(import.meta.dirname, '../../deploy/bundle.ts'), dist], {
    stdio: 'inherit',
  });
  const program = join(dist, 'matryoshka.js');
  const world = await restWorld();
  const { ca, cert, key } = await createServerCertificates();
  await world.app.ready();
  const server = createServer({ cert, key }, (request, response) => world.app.routing(request, response));
  try {
    for (let index = 0; index < CLUSTERS; index += 1)
      await world.admin.create(KUBERNETES_CLUSTERS, {
        metadata: { namespace: world.namespace, name: `demo-${index}` },
        spec: { cluster: { masterList: [{ ip: `192.0.2.${index + 1}` }] } },
      });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const url = `https://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    await writeFile(join(home, 'ca.crt'), ca);
    await writeFile(join(home, 'token'), world.tokens.alice);
    const login = [
      'login',
      '--server',
      url,
      '--ca',
      join(home, 'ca.crt'),
      '--token-file',
      join(home, 'token'),
    ];
    await run(process.execPath, [program, ...login, '-n', world.namespace], { env: { HOME: home } });
    const of = await inTurn({ node: ['-e', ''], help: [program, '--help'], get: [program, 'get'] }, home);
    const [node, help, get] = [median(of('node')), median(of('help')), median(of('get'))];
    const figures: Figure[] = [
      { name: 'matryoshka --help, more than bare node (ms)', ours: help - node, bound: 80 },
      { name: 'matryoshka get, more than --help (ms)', ours: get - help, bound: 200 },
    ];
    const about = ['node', 'help', 'get'].map((name) => `${name} ${spread(of(name))} ms`).join(', ');
    say(`median of ${RUNS}, in turn; ${about}`);
    return figures;
  } finally {
    server.closeAllConnections();
    server.close();
    await world.stop();
    await rm(home, { recursive: true, force: true });
  }
}

async function main(): Promise<void> {
  const figures = [...(await commandFigures()), ...(await pageFigures(say))];
  process.stdout.write(`one run; ${availableParallelism()} cores\n${figures.map(row).join('\n')}\n`);
  if (figures.some(isShort)) process.exitCode = 1;
}

try {
  await main();
} catch (error) {
  process.stderr.write(`bench: ${messageOf(error)}\n`);
  process.exitCode = 1;
}
