import { expect, it } from 'vitest';
import { followLimit } from './user-limit.ts';

it('limits the logs that one user and all users follow, and counts followers that leave', () => {
  const followers = followLimit();
  const out = Array.from({ length: 8 }, () => followers.enter('alice'));
  expect(() => followers.enter('alice')).toThrow(/you follow 8 logs/);
  followers.enter('bob');
  out[0]?.();
  out[0]?.();
  followers.enter('alice');
  expect(() => followers.enter('alice')).toThrow(/you follow 8 logs/);
  for (let index = 0; index < 119; index += 1) followers.enter(`user-${index}`);
  expect(() => followers.enter('carol')).toThrow(/too many logs are followed/);
});
