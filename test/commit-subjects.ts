import { execa } from 'execa';

/**
 * Part of `make lint`: the subjects of the last commits name an area and what the commit does, in at most 60 characters
 * (CONTRIBUTING.md, Text).
 */
const SUBJECT = /^(?=.{1,60}$)[a-z][a-z0-9 .,/-]*: \S/;
const CHECKED = 50;

const { stdout } = await execa('git', ['log', `-${CHECKED}`, '--no-merges', '--format=%h %s']);
const wrong = stdout.split('\n').filter((line) => !SUBJECT.test(line.slice(line.indexOf(' ') + 1)));
for (const line of wrong)
  process.stderr.write(`${line}: write "area: what it does" in at most 60 characters\n`);
process.exitCode = wrong.length > 0 ? 1 : 0;
