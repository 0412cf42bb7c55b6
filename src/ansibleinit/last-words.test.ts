import { expect, it } from 'vitest';
import { lastWords } from './last-words.ts';

const ESC = String.fromCharCode(27);
const KEY =
  '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\nQUFBQUFB\n-----END OPENSSH PRIVATE KEY-----\n';

it('tells errors before what came last, and is bounded', () => {
  const { hear, words } = lastWords([]);
  for (const line of ['PLAY [all] ***', 'fatal: [10.0.0.1]: FAILED! => no disk', 'PLAY RECAP']) hear(line);
  expect(words()).toBe('fatal: [10.0.0.1]: FAILED! => no disk');
  const long = lastWords([]);
  for (let index = 0; index < 10; index += 1) long.hear(`fatal: ${'x'.repeat(5_000)}`);
  expect(long.words().length).toBeLessThanOrEqual(800);
});

it('tells what was said last where nothing was an error', () => {
  const { hear, words } = lastWords([]);
  for (const line of ['one', 'two', '', 'three', 'four']) hear(line);
  expect(words()).toBe('two; three; four');
});

it('is plain text', () => {
  const { hear } = lastWords([]);
  expect(hear(`${ESC}[31mred${ESC}[0m\u0007 text\r`)).toBe('red text');
  expect(hear('y'.repeat(5_000))).toHaveLength(2_000);
});

it('repeats no secret, whole or by one of its lines', () => {
  const { hear, words } = lastWords([KEY, 'pass', undefined]);
  expect(hear('fatal: pass and b3BlbnNzaC1rZXktdjEAAAAA here')).toBe('fatal: *** and *** here');
  expect(words()).toBe('fatal: *** and *** here');
  expect(hear('-----BEGIN OPENSSH PRIVATE KEY-----')).toContain('BEGIN');
});
