import { expect, it } from 'vitest';
import { forwardedFields, plainAddress, trustIn } from './forwarded.ts';
import type { RequestHead } from './http1/heads.ts';

it('peers of the networks that are named are trusted, and nobody else', () => {
  const trust = trustIn(['10.0.0.0/8', 'fd00::/8']);
  expect(['10.1.2.3', 'fd00::1', '11.0.0.1', 'fe80::1', ''].map(trust)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
  expect(trustIn([])('10.0.0.1')).toBe(false);
  expect(trustIn(['10.0.0.0/8'])(plainAddress('::ffff:10.0.0.1'))).toBe(true);
});

it.each(['10.0.0.0', '10.0.0.0/', '10.0.0.0/33', 'example.com/8', '10.0.0.0/8/8', '/0', ''])(
  '"%s" is no network, and is refused by name',
  (network) => {
    expect(() => trustIn([network])).toThrow(`--trusted-proxies: "${network}" is no network`);
  },
);

it('what a trusted peer says of the way goes on, and its address is added', () => {
  const head: RequestHead = {
    ...{ method: 'GET', target: '/', path: '/', authority: 'h', version: '1.1' },
    fields: ['x-forwarded-for', '1.2.3.4', 'x-forwarded-proto', 'https', 'forwarded', 'for=1.2.3.4'],
    framing: { length: undefined, connection: [], upgrade: undefined },
  };
  const fields = forwardedFields(
    head,
    { remoteAddress: '10.0.0.1', isSecure: false },
    trustIn(['10.0.0.0/8']),
  );
  expect(fields).toEqual([
    ...['x-forwarded-for', '1.2.3.4, 10.0.0.1', 'x-forwarded-host', 'h'],
    ...['x-forwarded-port', '80', 'x-forwarded-proto', 'https'],
  ]);
});
