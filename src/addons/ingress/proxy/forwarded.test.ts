import { expect, it } from 'vitest';
import { forwardedFields, trustIn } from './forwarded.ts';
import type { Fields } from './http1/fields.ts';
import type { RequestHead } from './http1/heads.ts';

const head = (...fields: Fields): RequestHead => ({
  method: 'GET',
  target: '/',
  path: '/',
  authority: 'shop.example.com',
  version: '1.1',
  fields: ['host', 'shop.example.com', ...fields],
  framing: { length: undefined, connection: [], upgrade: undefined },
});
const client = { remoteAddress: '192.0.2.7', isSecure: false };
const told = (given: RequestHead, trusted: string[] = []) => {
  const fields = forwardedFields(given, client, trustIn(trusted));
  return fields.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${fields[at + 1]}`] : []));
};
const OURS = [
  'x-forwarded-for: 192.0.2.7',
  'x-forwarded-host: shop.example.com',
  'x-forwarded-port: 80',
  'x-forwarded-proto: http',
];

it.each([
  'x-forwarded-ssl',
  'x-forwarded-scheme',
  'x-forwarded-prefix',
  'x_forwarded_proto',
  'forwarded',
  'x-real-ip',
])('what a client says of its way by %s goes no further', (name) => {
  expect(told(head(name, 'on'))).toEqual(OURS);
});

it('what a trusted peer says is kept, and its address added', () => {
  expect(
    told(head('x-forwarded-for', '203.0.113.9', 'x-forwarded-proto', 'https', 'x-forwarded-ssl', 'on'), [
      '192.0.2.0/24',
    ]),
  ).toEqual([
    'x-forwarded-ssl: on',
    'x-forwarded-for: 203.0.113.9, 192.0.2.7',
    'x-forwarded-host: shop.example.com',
    'x-forwarded-port: 80',
    'x-forwarded-proto: https',
  ]);
});
