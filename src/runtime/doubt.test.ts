import { expect, it } from 'vitest';
import { createDoubt } from './doubt.ts';

it('believes what is newer, and what is older the third time only', () => {
  const doubt = createDoubt();
  doubt.list('5');
  doubt.seen('9');
  expect(() => doubt.list('8')).toThrow('the list is as of version 8, older than 9 that was seen before');
  expect(() => doubt.list('8')).toThrow();
  doubt.list('8');
  doubt.list('8');
  expect(() => doubt.list('7')).toThrow();
});

it('begins to count anew when a list fits', () => {
  const doubt = createDoubt();
  doubt.seen('9');
  expect(() => doubt.list('8')).toThrow();
  doubt.list('10');
  expect(() => doubt.list('8')).toThrow();
  expect(() => doubt.list('8')).toThrow();
});

it('does not judge versions that have no order', () => {
  const doubt = createDoubt();
  doubt.seen('abc');
  doubt.list('1');
  doubt.list('');
});
