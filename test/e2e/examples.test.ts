import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { nodeNameOf } from '#api/host.ts';
import { specSchema } from '#api/kubernetes-cluster.ts';
import { isEtcdOnly, membersOf } from '#api/member.ts';
import { readyNodesOf } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byKubectl } from './by-kubectl.ts';
import { openLane } from './lanes.ts';

const folder = join(import.meta.dirname, '../../deploy/examples');
const exampleSchema = z.object({ metadata: z.object({ name: z.string() }), spec: specSchema });
const CREATION_S = 600;

let meta: Meta;
beforeAll(async () => {
  meta = await openLane();
  await byKubectl(meta, '').giveKeys('demo-keys');
});
afterAll(() => meta.close());

/** The text with lab hosts in the place of addresses that stand for somebody's (RFC 5737). */
function here(text: string): string {
  const theirs = [...new Set(text.match(/\b192\.0\.2\.\d+/g))];
  return theirs.reduce(
    (all, ip, index) => all.replaceAll(new RegExp(`\\b${ip}\\b`, 'g'), meta.hosts[index]?.ip ?? ''),
    text,
  );
}

it.each(await readdir(folder))('%s is made as it stands, and goes', async (file) => {
  const text = here(await readFile(join(folder, file), 'utf8'));
  const { metadata, spec } = exampleSchema.parse(parse(text));
  const { run, waitUpToDate, untilGone } = byKubectl(meta, metadata.name);
  await run(['apply', '-f', '-'], { input: text });
  await waitUpToDate(CREATION_S);
  const nodes = [...membersOf(spec.cluster).values()].filter((member) => !isEtcdOnly(member));
  expect(await readyNodesOf(meta, metadata.name)).toEqual(nodes.map(nodeNameOf).sort());
  await run(['delete', '-f', '-', '--wait=false'], { input: text });
  await untilGone(CREATION_S * 1_000);
});
