import { expect, it } from 'vitest';
import { summarizeOutput } from './output-summary.ts';

const ESC = String.fromCharCode(27);
const KEY =
  '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\nQUFBQUFB\n-----END OPENSSH PRIVATE KEY-----\n';

it('prefers errors to the last lines, and limits the length', () => {
  const { hear, summary } = summarizeOutput([]);
  for (const line of ['PLAY [all] ***', 'fatal: [10.0.0.1]: FAILED! => no disk', 'PLAY RECAP']) hear(line);
  expect(summary()).toBe('fatal: [10.0.0.1]: FAILED! => no disk');
  const long = summarizeOutput([]);
  for (let index = 0; index < 10; index += 1) long.hear(`fatal: ${'x'.repeat(5_000)}`);
  expect(long.summary().length).toBeLessThanOrEqual(800);
});

it('returns the last lines if there is no error', () => {
  const { hear, summary } = summarizeOutput([]);
  for (const line of ['one', 'two', '', 'three', 'four']) hear(line);
  expect(summary()).toBe('two; three; four');
});

it('strips control characters, and limits the length of a line', () => {
  const { hear } = summarizeOutput([]);
  expect(hear(`${ESC}[31mred${ESC}[0m\u0007 text\r`)).toBe('red text');
  expect(hear('y'.repeat(5_000))).toHaveLength(2_000);
});

it('masks each secret, and each single line of it', () => {
  const { hear, summary } = summarizeOutput([KEY, 'pass', undefined]);
  expect(hear('fatal: pass and b3BlbnNzaC1rZXktdjEAAAAA here')).toBe('fatal: *** and *** here');
  expect(summary()).toBe('fatal: *** and *** here');
  expect(hear('-----BEGIN OPENSSH PRIVATE KEY-----')).toContain('BEGIN');
});
