import { expect, it } from 'vitest';
import { hostSchema } from './host.ts';

const isTaken = (user: string): boolean => hostSchema.safeParse({ ip: '192.0.2.1', user }).success;

it.each(['root', 'jay.wren', 'CORP\\ops', 'ops@corp.example', '_svc', 'a'.repeat(64)])(
  'takes user %s',
  (user) => {
    expect(isTaken(user)).toBe(true);
  },
);

it.each(['', '-oProxyCommand=x', 'a b', 'a\n', 'a;b', '$(id)', 'a"b', 'a'.repeat(65)])(
  'refuses user %j',
  (user) => {
    expect(isTaken(user)).toBe(false);
  },
);
