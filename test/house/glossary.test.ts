import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { expect, it } from 'vitest';

/** Private words that were replaced by the field's terms, and the terms. */
const REPLACED: Readonly<Record<string, string>> = {
  anchor: 'cluster state Secret',
  deed: 'permission, or host result',
  errand: 'auxiliary Job',
  misfit: 'phase mismatch',
  neighbour: 'add-on',
  remedy: 'remediation',
  seal: 'plan hash, or baseline',
  teller: 'reporter',
  telling: 'notice',
  untidy: 'leftovers',
};

const root = join(import.meta.dirname, '../..');

/** Returns the words of all identifiers of a file: `planHashOf` has plan, hash and of. */
function wordsOf(text: string): Set<string> {
  const words = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node))
      for (const word of node.text.split(/(?=[A-Z][a-z])|_/)) words.add(word.toLowerCase());
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('a.ts', text, ts.ScriptTarget.Latest));
  return words;
}

const replacedIn = (text: string): string[] =>
  [...wordsOf(text)].filter((word) => Object.hasOwn(REPLACED, word.replace(/s$/, '')));

it('no name in src/ has a word of the old glossary', () => {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );
  const found = files.flatMap((file) =>
    replacedIn(readFileSync(join(root, 'src', file), 'utf8')).map((word) => `src/${file}: ${word}`),
  );
  expect(found).toEqual([]);
});

it('sees such a word inside a name', () => {
  expect(replacedIn('const planSealOf = 1; const sealed = 2;')).toEqual(['seal']);
});
