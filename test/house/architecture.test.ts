import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { crdFiles } from '../../src/crds.ts';

/** Checks the statements of docs/architecture.md about files; .dependency-cruiser.mjs has the import rules. */
const root = join(import.meta.dirname, '../..');

/** Whether a file is a test or shared by tests; the product never imports these. */
const isTest = (file: string): boolean => /\.(test|fixture)\.ts$|\/testing\//.test(file);

const filesUnder = (folder: string, matches: (path: string) => boolean): string[] =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => matches(path) && !/(^|\/)(node_modules|dist|__pycache__)\//.test(path))
    .sort();

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const sources = filesUnder('src', (path) => path.endsWith('.ts')).map((path) => path.slice('src/'.length));
const product = sources.filter((file) => !isTest(file));

/** Finds places that give up a type: `any`, or a comment that silences the compiler. */
function untyped(path: string, text: string): string[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
  const at = (position: number) => `${path}:${source.getLineAndCharacterOfPosition(position).line + 1}`;
  const found = [...text.matchAll(/@ts-(ignore|nocheck|expect-error)/g)].map(({ index }) => at(index));
  const visit = (node: ts.Node): void => {
    if (node.kind === ts.SyntaxKind.AnyKeyword) found.push(at(node.getStart(source)));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

describe('the files', () => {
  it('have no vague names', () => {
    const vague = /^(utils?|helpers?|commons?|misc|shared|lib)$/;
    const named = [
      ...sources.map((file) => `src/${file}`),
      ...filesUnder('lab', (path) => path.endsWith('.ts')),
    ];
    expect(
      named.filter((path) => path.split('/').some((part) => vague.test(part.replace(/\.ts$/, '')))),
    ).toEqual([]);
    expect(named.filter((path) => !/^[a-z0-9]+([-.][a-z0-9]+)*\.ts$/.test(basename(path)))).toEqual([]);
  });

  it('use neither any nor a comment that silences the compiler', () => {
    const all = ['src', 'lab', 'deploy', 'test'].flatMap((folder) =>
      filesUnder(folder, (path) => path.endsWith('.ts')),
    );
    expect(all.flatMap((path) => untyped(path, read(path)))).toEqual([]);
    expect(untyped('made-up.ts', 'const a: number = 1;\nconst b = JSON.parse("1") as any;')).toEqual([
      'made-up.ts:2',
    ]);
  });

  it('contain no reference to the lab if they belong to the product', () => {
    const word = /\blab\b|\blab[-_]/i;
    const texts = [
      ...product.map((file) => `src/${file}`),
      ...filesUnder('ansible', (path) => !path.endsWith('.pyc')),
      ...filesUnder('deploy/manifests', () => true),
      ...filesUnder('crds', () => true),
    ];
    const notice = texts.flatMap((path) =>
      read(path)
        .split('\n')
        .flatMap((line, index) => (word.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
    );
    expect(notice).toEqual([]);
  });

  it.each(['crds', 'deploy/chart/crds'])('under %s match src/api: run "node src/crds.ts"', (folder) => {
    const found = Object.fromEntries(
      readdirSync(join(root, folder)).map((name) => [name, read(`${folder}/${name}`)]),
    );
    expect(found).toEqual(crdFiles);
  });
});
