import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

/** Checks that src/runtime can be used without the rest of the project, as far as its text shows. */
const root = join(import.meta.dirname, '../..');
const room = join(root, 'src/runtime');
const read = (path: string) => readFileSync(path, 'utf8');
const typescriptOf = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
const files = typescriptOf(room);

const Crd = z.object({
  spec: z.object({ group: z.string(), names: z.object({ kind: z.string(), plural: z.string() }) }),
});
const kinds = readdirSync(join(root, 'crds')).flatMap((name) => {
  const { group, names } = Crd.parse(parse(read(join(root, 'crds', name)))).spec;
  // A URL has a host too.
  return [group, names.kind, names.plural].filter((word) => !/^hosts?$/i.test(word));
});
/** Words about clusters, their hosts and operations; our kinds come from crds/. */
const DOMAIN = [
  ...kinds,
  'matryoshka',
  'kubeadm',
  'ansible',
  'playbook',
  'inventory',
  'precheck',
  'masterList',
  'nodeList',
  'etcdList',
  'scal(e|ing)[- ]?(up|down)',
  'local ?service',
  'workspace',
  'cloud[- ]?ide',
  'anchor',
  'fence',
];

/** Returns `file:line: text` of each line that matches. */
const lines = (names: readonly string[], word: RegExp) =>
  names.flatMap((name) =>
    read(join(room, name))
      .split('\n')
      .flatMap((line, at) => (word.test(line) ? [`src/runtime/${name}:${at + 1}: ${line.trim()}`] : [])),
  );

/** Each `path`: name in docs/runtime.md. */
const promises = [...read(join(root, 'docs/runtime.md')).matchAll(/`([^`]+\.test\.ts)`: ([^|;]+)/g)].map(
  ([, path = '', name = '']) => ({ path, name: name.trim() }),
);

describe('docs/runtime.md', () => {
  it('names a test for each promise, which exists', () => {
    expect(promises.length).toBeGreaterThan(50);
    const missing = promises.filter(
      ({ path, name }) => !existsSync(join(root, path)) || !read(join(root, path)).includes(name),
    );
    expect(missing).toEqual([]);
    const bare = read(join(root, 'docs/runtime.md'))
      .split('\n')
      .filter((line) => /^\| (?!promise)/.test(line) && !/`[^`]+\.test\.ts`: /.test(line));
    expect(bare).toEqual([]);
  });

  it('names every test file of the runtime', () => {
    const tests = ['src/runtime', 'test/conformance/runtime'].flatMap((folder) =>
      typescriptOf(join(root, folder))
        .filter((name) => name.endsWith('.test.ts'))
        .map((name) => `${folder}/${name}`),
    );
    const named = new Set(promises.map(({ path }) => path));
    expect(tests.filter((path) => !named.has(path))).toEqual([]);
  });
});

describe('src/runtime', () => {
  it('contains no terms of the domain', () => {
    expect(files.length).toBeGreaterThan(50);
    expect(kinds).toContain('KubernetesCluster');
    expect(lines(files, new RegExp(DOMAIN.join('|'), 'i'))).toEqual([]);
  });

  it('measures time with the monotonic clock: the wall clock is for records (row 22)', () => {
    const product = files.filter((name) => !name.endsWith('.test.ts'));
    expect(lines(product, /Date\.now\(|new Date\(\)/)).toEqual([]);
    const asked = lines(product, /\bnow\(\)/).map((line) => line.split(':')[0]);
    expect([...new Set(asked)].sort()).toEqual([
      'src/runtime/events/recorder.ts',
      'src/runtime/leader/leader.ts',
    ]);
  });
});
