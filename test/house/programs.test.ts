import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { ensurePackages } from '#lab/hosts/packages.ts';
import { PACKET_RULES, RECOMMENDED, REQUIRED } from '#precheck/checks/programs.ts';
import { checks } from '#precheck/index.ts';
import { scriptOf } from '#precheck/script.ts';
import { framed } from '#ssh/framed.ts';

/** Reads the calls of scripts from shfmt's syntax tree, and compares them with the programs that the precheck requires. */
const root = join(import.meta.dirname, '../..');

/** Programs that our roles bring to the host, or an image that a role unpacks; ping is called only if it exists. */
const OURS = /^(kubeadm|kubelet|kubectl|containerd|ctr|ipset|ping)$|^\/usr\/local\/sbin\/matryoshka-/;
/** Programs that others call: kubeadm's mandatory PATH checks, the kubelet's umount, and tar's gzip for `z`. */
const OTHERS = ['cp', 'losetup', 'mount', 'umount', 'gzip'];
/** Programs that run another one, with the number of words before that one. */
const WRAPPERS: Readonly<Record<string, number>> = {
  timeout: 1,
  xargs: 0,
  exec: 0,
  command: 0,
  setsid: 0,
  env: 0,
};

const partSchema = z.looseObject({ Type: z.string(), Value: z.string().optional() });
const wordSchema = z.looseObject({ Parts: z.array(partSchema) });
const callSchema = z.looseObject({ Type: z.literal('CallExpr'), Args: z.array(wordSchema) });
const functionSchema = z.looseObject({
  Type: z.literal('FuncDecl'),
  Name: z.looseObject({ Value: z.string() }),
});
type Word = z.infer<typeof wordSchema>;

const functions = new Set<string>();
const called = new Set<string>();
const builtins = new Set<string>();

/** Returns the text of a word without variables. */
function literal(word: Word | undefined): string | undefined {
  if (!word?.Parts.every(({ Type }) => Type === 'Lit' || Type === 'SglQuoted')) return undefined;
  return word.Parts.map(({ Type, Value = '' }) =>
    Type === 'Lit' ? Value.replaceAll(/\\(.)/gs, '$1') : Value,
  ).join('');
}

async function call(words: readonly Word[]): Promise<void> {
  const [path, ...rest] = [literal(words[0]), ...words.slice(1).map(literal)];
  const name = path?.replace(/^(\/usr)?\/bin\//, '');
  for (const text of rest) {
    // A script that is written to the host, and the programs that its units start.
    if (text?.startsWith('#!/bin/')) await read(text);
    for (const [, path] of (text ?? '').matchAll(/^Exec\w+=[-+!]*(\/usr\/bin\/\S+)/gm))
      called.add(path ?? '');
  }
  // A variable names a program of ours, or one that the function's caller named.
  if (name === undefined) return;
  called.add(name);
  const shell = rest.indexOf('-c');
  if (/^(ba)?sh$/.test(name) && shell >= 0) await read(rest[shell + 1] ?? '');
  const skip = WRAPPERS[name];
  if (skip === undefined || (name === 'command' && rest[0] === '-v')) return;
  const first = rest.findIndex((text) => text === undefined || !/^-|^\w+=/.test(text));
  if (first >= 0) await call(words.slice(1 + first + skip));
}

async function walk(node: unknown): Promise<void> {
  if (Array.isArray(node)) {
    for (const one of node) await walk(one);
  } else if (typeof node === 'object' && node !== null) {
    const made = functionSchema.safeParse(node);
    if (made.success) functions.add(made.data.Name.Value);
    const command = callSchema.safeParse(node);
    if (command.success) await call(command.data.Args);
    await walk(Object.values(node));
  }
}

async function read(text: string): Promise<void> {
  const { stdout } = await execa('shfmt', ['-ln', 'bash', '--to-json'], { input: text });
  await walk(JSON.parse(stdout));
}

beforeAll(async () => {
  await ensurePackages({ shfmt: 'shfmt' }, () => {});
  const { stdout } = await execa('bash', ['--norc', '-c', 'compgen -bk']);
  for (const name of stdout.split('\n')) builtins.add(name);
  const files = globSync(
    ['ansible/roles/*/files/*.sh', 'ansible/files/*', 'src/addons/network/bridges/host/*'].map((path) =>
      join(root, path),
    ),
  );
  for (const path of files) await read(readFileSync(path, 'utf8'));
  await read(framed(':').line);
  await read(scriptOf(checks, { artifactUrl: 'http://a' }));
}, 60_000);

it('the precheck requires every program that scripts, kubeadm or the kubelet call, and no other', () => {
  const needed = [...called, ...OTHERS].filter(
    (name) => !builtins.has(name) && !functions.has(name) && !OURS.test(name) && !/^\d+$/.test(name),
  );
  const asked = [
    ...Object.values(REQUIRED).flatMap((names) => names.split(' ')),
    ...Object.keys(RECOMMENDED),
    ...PACKET_RULES,
  ];
  expect(asked.toSorted()).toEqual([...new Set(needed)].toSorted());
});
