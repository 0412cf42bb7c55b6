import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import type { KubeObject, Resource } from '#api/meta.ts';
import { createLogger } from '#base/log.ts';
import { CUSTOM_RESOURCE_DEFINITIONS } from '#lab/apiserver/kinds.ts';
import { LEASES, type Lease } from '#runtime/leader/lease.ts';
import { CONFIG_MAPS, useNamespace } from '#runtime/testing/test-namespace.ts';
import { packRuntime } from '../../../deploy/pack-runtime.ts';
import { eventually, runInformers, within } from './world.ts';

const root = join(import.meta.dirname, '../../..');
const test = useNamespace('greeter');
const { namespace, key } = test;

interface Greeting extends KubeObject {
  spec: { who: string };
  status?: { greeted: string };
}
const GREETINGS: Resource = {
  group: 'example.com',
  version: 'v1',
  kind: 'Greeting',
  plural: 'greetings',
  namespaced: true,
};
const page = readFileSync(join(root, 'docs/write-a-controller.md'), 'utf8');
/** Returns the code block of that language on the page. */
function block(language: string): string {
  const found = page.split(`\`\`\`${language}\n`)[1]?.split('\n```')[0];
  if (found === undefined) throw new Error(`docs/write-a-controller.md has no block of ${language}`);
  return `${found}\n`;
}

/** A folder that holds only the packed runtime and the dependencies of its manifest. */
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'greeter-'));
  const tarball = packRuntime(folder);
  const installed = join(folder, 'node_modules/matryoshka-runtime');
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
  rmSync(join(folder, 'package'), { recursive: true });
  const manifest = z
    .object({ dependencies: z.record(z.string(), z.string()) })
    .parse(JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')));
  // The program itself needs the types of Node, because it uses `process`.
  for (const name of [...Object.keys(manifest.dependencies), '@types/node']) {
    const link = join(folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), link);
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  writeFileSync(join(folder, 'greeter.ts'), block('ts'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await test.client.delete(CUSTOM_RESOURCE_DEFINITIONS, { namespace: '', name: 'greetings.example.com' });
});

it('the program of the page compiles', () => {
  const program = ts.createProgram([join(folder, 'greeter.ts')], {
    strict: true,
    noEmit: true,
    exactOptionalPropertyTypes: true,
    target: ts.ScriptTarget.ES2024,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    skipLibCheck: true,
    types: ['node'],
    typeRoots: [join(folder, 'node_modules/@types')],
  });
  const problems = ts.getPreEmitDiagnostics(program);
  expect(problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([]);
});

it('the program of the page greets, heals and stops cleanly, from a packed runtime in an empty folder', async () => {
  const { client } = test;
  const child = spawn(process.execPath, ['greeter.ts'], {
    cwd: folder,
    env: { ...process.env, KUBECONFIG: inject('kubeconfigPath'), NAMESPACE: namespace, PROBE_PORT: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const said: string[] = [];
  const waiting = Promise.withResolvers<void>();
  child.stderr.on('data', (part: Buffer) => {
    said.push(part.toString());
    if (said.join('').includes('waiting for its CustomResourceDefinition')) waiting.resolve();
  });
  const closed = once(child, 'close');
  try {
    // The controller starts before its CRD exists, as on a new cluster.
    await within(waiting.promise, 20_000, () => `a word of the missing kind; it said: ${said.join('')}`);
    await client.create(
      CUSTOM_RESOURCE_DEFINITIONS,
      z.looseObject({ metadata: z.object({ name: z.string() }) }).parse(parse(block('yaml'))),
    );
    await using caches = runInformers();
    const start = { client, selection: { namespace }, log: createLogger('silent') };
    const greetings = await caches.start<Greeting>({ ...start, resource: GREETINGS }, 30_000);
    const maps = await caches.start(start);
    const greeted = (who: string) =>
      greetings.get(key('first'))?.status?.greeted === who &&
      maps.get(key('first'))?.data?.['text'] === `Hello, ${who}!`;
    const isGreeted = (who: string) =>
      eventually([greetings, maps], `${who} is greeted`, () => greeted(who), 30_000);
    await client.create<Greeting>(GREETINGS, { metadata: key('first'), spec: { who: 'World' } });
    await isGreeted('World');
    await client.patch(GREETINGS, key('first'), { spec: { who: 'Node' } }, { type: 'merge' });
    await isGreeted('Node');
    const { uid } = (await client.get(CONFIG_MAPS, key('first'))).metadata;
    await client.delete(CONFIG_MAPS, key('first'));
    const healed = () => greeted('Node') && maps.get(key('first'))?.metadata.uid !== uid;
    await eventually([greetings, maps], 'the ConfigMap is there again', healed);
    child.kill('SIGTERM');
    await within(closed, 15_000, () => `its end; it said: ${said.join('')}`);
    expect(child.exitCode, said.join('')).toBe(0);
    const lease = await client.get<Lease>(LEASES, key('greeter'));
    expect(lease.spec?.holderIdentity ?? '').toBe('');
  } finally {
    child.kill('SIGKILL');
    await closed;
  }
});
