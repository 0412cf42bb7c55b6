import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { expect, it } from 'vitest';

/** Private words that were replaced by the field's terms, and the terms. */
const REPLACED: Readonly<Record<string, string>> = {
  anchor: 'cluster state Secret',
  apart: 'external',
  deed: 'permission, or host result',
  errand: 'auxiliary Job',
  led: 'pointed at',
  mark: 'label, annotation or marker',
  misfit: 'phase mismatch',
  neighbour: 'add-on',
  remedy: 'remediation',
  seal: 'plan hash, or baseline',
  settle: 'finish, or update Host records',
  teller: 'reporter',
  telling: 'notice',
  told: 'reported',
  untidy: 'leftovers',
  untold: 'unreported',
};

/** Names that Node and Unicode define. */
const FOREIGN = new Set(['highWaterMark', 'BYTE_ORDER_MARK']);

const root = join(import.meta.dirname, '../..');

/** Returns the words of all identifiers of a file: `planHashOf` has plan, hash and of. */
function wordsOf(text: string): Set<string> {
  const words = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && !FOREIGN.has(node.text))
      for (const word of node.text.split(/(?=[A-Z][a-z])|_/)) words.add(word.toLowerCase());
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('a.ts', text, ts.ScriptTarget.Latest));
  return words;
}

const replacedIn = (text: string): string[] =>
  [...wordsOf(text)].filter((word) => Object.hasOwn(REPLACED, word.replace(/s$/, '')));

it('no identifier in src/ has a replaced word', () => {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );
  const found = files.flatMap((file) =>
    replacedIn(readFileSync(join(root, 'src', file), 'utf8')).map((word) => `src/${file}: ${word}`),
  );
  expect(found).toEqual([]);
});

it('a replaced word is found inside a name', () => {
  expect(replacedIn('const planSealOf = 1; const sealed = 2;')).toEqual(['seal']);
});
