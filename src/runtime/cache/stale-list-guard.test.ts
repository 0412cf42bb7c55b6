import { expect, it } from 'vitest';
import { createStaleListGuard } from './stale-list-guard.ts';

it('accepts a newer list, and an older one only the third time', () => {
  const guard = createStaleListGuard();
  guard.list('5');
  guard.seen('9');
  expect(() => guard.list('8')).toThrow('the list is as of version 8, older than 9 that was seen before');
  expect(() => guard.list('8')).toThrow();
  guard.list('8');
  guard.list('8');
  expect(() => guard.list('7')).toThrow();
});

it('counts from the start again after a list fits', () => {
  const guard = createStaleListGuard();
  guard.seen('9');
  expect(() => guard.list('8')).toThrow();
  guard.list('10');
  expect(() => guard.list('8')).toThrow();
  expect(() => guard.list('8')).toThrow();
});

it('accepts versions that have no order', () => {
  const guard = createStaleListGuard();
  guard.seen('abc');
  guard.list('1');
  guard.list('');
});
