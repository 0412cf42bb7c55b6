import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { restWorld } from '#server/testing/rest-world.ts';
import { fuzzBodies } from './bodies.ts';
import { flood } from './flood.ts';
import { fuzzBySchema } from './schemathesis.ts';
import { startServer } from './server-program.ts';

/**
 * `make fuzz`: the REST API on a real API server, with the permissions from its manifests. First FLOOD seconds (60) of 1,000
 * requests a second without a valid token, during which the webhook must answer. Then generated requests over all routes,
 * then schemathesis on the OpenAPI document of the real program over TLS. There must be no 5xx, and no user gets more than
 * his permissions allow. SEED repeats a run; REQUESTS and EXAMPLES set the number of each.
 */
const number = (name: string, otherwise: number): number => Number(process.env[name] || otherwise);
const seed = number('SEED', Math.floor(Math.random() * 2 ** 31));
const count = number('REQUESTS', 100_000);
const examples = number('EXAMPLES', 200);
const floodSeconds = number('FLOOD', 60);
const MOST_SHOWN = 20;

process.stdout.write(`SEED=${seed} REQUESTS=${count} EXAMPLES=${examples}\n`);
const began = performance.now();
const dir = await mkdtemp(join(tmpdir(), 'matryoshka-fuzz-'));
const world = await restWorld();
let isFine = false;
try {
  const found = floodSeconds > 0 ? await flood(world, dir, floodSeconds) : [];
  found.push(...(await fuzzBodies(world, count, seed)));
  for (const line of found.slice(0, MOST_SHOWN)) process.stdout.write(`${line}\n`);
  await world.serve('default');
  await using server = await startServer(world, dir);
  const isClean = await fuzzBySchema({ ...server, token: world.tokens.alice, dir }, { seed, examples });
  const seconds = Math.round((performance.now() - began) / 1000);
  process.stdout.write(
    `${count} requests: ${found.length} findings; schemathesis: ${isClean ? 'none' : 'see above'}; ${seconds} s\n`,
  );
  isFine = found.length === 0 && isClean;
} finally {
  await world.stop();
  await rm(dir, { recursive: true, force: true });
}
process.stdout.write(isFine ? 'fuzz: 0 findings\n' : `fuzz: again with SEED=${seed}\n`);
process.exitCode = isFine ? 0 : 1;
