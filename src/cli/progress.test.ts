import { expect, it } from 'vitest';
import { hostTexts } from './progress.ts';

const HOST = '192.0.2.11';

it('shows the last task that a host has done, not one that it has skipped', () => {
  const texts = hostTexts([HOST, '192.0.2.101']);
  expect(texts.after(HOST, 'worker : Join', 'start')).toBe(`${HOST}   worker : Join`);
  expect(texts.after(HOST, 'worker : Join', 'changed')).toBe(`${HOST}   worker : Join (changed)`);
  texts.after(HOST, 'control-plane : Join', 'start');
  expect(texts.after(HOST, 'control-plane : Join', 'skipped')).toBe(`${HOST}   worker : Join (changed)`);
});

it('knows a host whose last task has failed', () => {
  const texts = hostTexts([HOST]);
  texts.after(HOST, 'precheck', 'error: Unreachable: connection timed out');
  expect(texts.hasFailed(HOST)).toBe(true);
  texts.after(HOST, 'precheck', 'ok');
  expect(texts.hasFailed(HOST)).toBe(false);
});
