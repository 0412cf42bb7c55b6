import { expect, it } from 'vitest';
import { hostSchema } from './host.ts';

const isTaken = (user: string): boolean => hostSchema.safeParse({ ip: '192.0.2.1', user }).success;

it.each(['root', 'jay.wren', 'CORP\\ops', 'ops@corp.example', '_svc', 'a'.repeat(64)])(
  'accepts user %s',
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

const isNamed = (name: string): boolean => hostSchema.safeParse({ ip: '192.0.2.1', name }).success;

it.each(['lab-1', 'server01.local1', 'ip-10-0-0-1.eu.internal', 'a'.repeat(63)])(
  'accepts node name %s',
  (name) => {
    expect(isNamed(name)).toBe(true);
  },
);

// A longer name than 63 characters would not fit the label kubernetes.io/hostname.
it.each(['', 'A', 'a.', '.a', 'a..b', 'a.-b', 'a_b', `${'a'.repeat(60)}.com`])(
  'refuses node name %j',
  (name) => {
    expect(isNamed(name)).toBe(false);
  },
);
