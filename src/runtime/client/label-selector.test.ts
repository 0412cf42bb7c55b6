import { expect, it } from 'vitest';
import { matchesSelector } from './label-selector.ts';

const labels = { app: 'a', 'x.io/tier': 'db', empty: '' };

it.each([
  ['', true],
  ['app=a', true],
  ['app==a', true],
  ['app = b', false],
  ['app!=b', true],
  ['gone!=b', true],
  ['app', true],
  ['!app', false],
  ['!gone', true],
  ['empty=', true],
  ['app in (a, b)', true],
  ['x.io/tier notin (db,web)', false],
  ['gone notin (db)', true],
  ['gone in (db)', false],
  ['app in (a,b),x.io/tier=db', true],
  ['app in (a,b),x.io/tier=web', false],
])('reads %j as the API server does: %s', (selector, match) => {
  expect(matchesSelector(selector, labels)).toBe(match);
});

it('refuses an invalid selector', () => {
  expect(() => matchesSelector('app in a', labels)).toThrow(TypeError);
  expect(() => matchesSelector('a=b=c', labels)).toThrow(TypeError);
});
