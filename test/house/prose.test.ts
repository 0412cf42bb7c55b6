import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

/** Rules of CONTRIBUTING.md, Text, that a regular expression can check in documents. */
const root = join(import.meta.dirname, '../..');
const GENERATED = /^docs\/reference\/(fields|configuration|metrics|command-line|errors)\.md$/;
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'ansible/README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).map((name) => `docs/${name}`),
].filter((name) => name.endsWith('.md') && !GENERATED.test(name));

const MAX_LINE = 100;
const MEAN_WORDS = 18;
/** Patterns, each with its replacement. */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/^(?:- |\d+\. )?(?:Of|Where|What|Whoever|That|So that)\b/, 'begin with the subject, or with if and when'],
  [/\b(?:somebody|someone|whoever)\b/i, 'name the user, the controller, the Job'],
  [/\b(?:errand|misfit|untidy|neighbour)s?\b/i, 'use the term of CONTRIBUTING.md'],
  [/\bas (?:it was|they were) made\b/i, 'write "drifted" or "matches the baseline"'],
  [/\bany more\b/i, 'write "no longer"'],
];

/** Returns the text without code blocks, and each line with `code` as one word. */
const proseOf = (text: string): string[] =>
  text
    .replaceAll(/^```[\s\S]*?^```/gm, '')
    .split('\n')
    .filter((line) => !line.startsWith('    '))
    .map((line) => line.replaceAll(/`[^`]*`/g, 'X').replaceAll(/\]\([^)]*\)/g, ']'));

function meanWords(lines: readonly string[]): number {
  const prose = lines
    .filter((line) => line !== '' && !/^[|#]/.test(line))
    .join('\n')
    .replaceAll(/\n(?:- |\d+\. )/g, '. ');
  const lengths = prose
    .split(/[.!?:]\s+|\n\n/)
    .map((sentence) => sentence.split(/\s+/).filter((word) => word !== '').length)
    .filter((words) => words > 2);
  return lengths.reduce((sum, words) => sum + words, 0) / Math.max(1, lengths.length);
}

describe.each(pages)('%s', (page) => {
  const text = readFileSync(join(root, page), 'utf8');
  const lines = proseOf(text);

  it('has no forbidden phrase', () => {
    const found = lines.flatMap((line) =>
      PATTERNS.filter(([pattern]) => pattern.test(line)).map(
        ([, instead]) => `${line.slice(0, 80)}: ${instead}`,
      ),
    );
    expect(found).toEqual([]);
  });

  it(`has lines of at most ${MAX_LINE} characters, except in tables and code`, () => {
    const long = text
      .replaceAll(/^```[\s\S]*?^```/gm, '')
      .split('\n')
      .filter((line) => line.length > MAX_LINE && !/^(?:\||#| {4,})/.test(line) && /\s/.test(line.trim()));
    expect(long).toEqual([]);
  });

  it(`has sentences of at most ${MEAN_WORDS} words on average`, () => {
    expect(meanWords(lines)).toBeLessThanOrEqual(MEAN_WORDS);
  });
});

it('a forbidden phrase is found', () => {
  expect(PATTERNS.some(([pattern]) => pattern.test('hosts that are not as they were made any more'))).toBe(
    true,
  );
});

/** A docstring begins with a verb, a noun, or Whether. */
const DOCSTRING = /\/\*\*\s+(?:\* )?(?:What|How|Who|Whoever|That|Of|One|Those|Somebody|Nobody)\b/g;

it.each(['src', 'test', 'lab', 'bench'])('docstrings of %s/ begin with a verb, noun or Whether', (folder) => {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
  const found = files
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) =>
      [...readFileSync(join(root, folder, file), 'utf8').matchAll(DOCSTRING)].map(
        ([text]) => `${file}: ${text}`,
      ),
    );
  expect(found).toEqual([]);
});
