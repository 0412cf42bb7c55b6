import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

/** `area: what it does`, in at most 60 characters (CONTRIBUTING.md, Text). */
const SUBJECT = /^(?=.{1,60}$)[a-z][a-z0-9 .,/-]*: \S/;
const CHECKED = 50;

it('the subjects of the last commits name an area and what the commit does', () => {
  const log = execFileSync('git', ['log', `-${CHECKED}`, '--no-merges', '--format=%h %s'], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  });
  const wrong = log
    .trim()
    .split('\n')
    .filter((line) => !SUBJECT.test(line.slice(line.indexOf(' ') + 1)));
  expect(wrong).toEqual([]);
});
