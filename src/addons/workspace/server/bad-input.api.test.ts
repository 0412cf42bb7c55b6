import { readFile } from 'node:fs/promises';
import { type ClientHttp2Session, connect } from 'node:http2';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WORKSPACES } from '../api.ts';
import { useWorkspaces } from '../testing/workspace-world.fixture.ts';
import { cloudIdeService } from './service-definition.ts';

/** Sends calls that no client library makes: bytes over HTTP/2. */
const test = useWorkspaces();
const CREATE = '/pb.CloudIdeService/createSpaceAndWaitForRunning';
let session: ClientHttp2Session | undefined;
beforeAll(async () => {
  session = connect(`https://${test.address()}`, { ca: await readFile(test.caPath()) });
});
afterAll(() => session?.close());

const framed = (message: Buffer, length = message.length): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
};

/** Returns the gRPC status of one call; undefined if the stream ended without one. */
function send(
  body: Buffer,
  headers: Record<string, string> = {},
  path = CREATE,
): Promise<number | undefined> {
  const answered = Promise.withResolvers<number | undefined>();
  const stream = session?.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    authorization: `Bearer ${test.token()}`,
    ...headers,
  });
  let status: unknown;
  stream?.on('response', (given) => (status ??= given['grpc-status']));
  stream?.on('trailers', (given) => (status ??= given['grpc-status']));
  stream?.on('error', () => {});
  stream?.on('close', () => answered.resolve(status === undefined ? undefined : Number(status)));
  stream?.resume();
  stream?.end(body);
  return answered.promise;
}
const message = () => {
  const { requestSerialize } = cloudIdeService()['createSpaceAndWaitForRunning'] ?? {};
  const info = { name: 'bad', namespace: test.namespace, image: 'editor', port: 1 };
  return requestSerialize?.(info) ?? Buffer.alloc(0);
};

it.each<[string, number, () => Promise<number | undefined>]>([
  ['a deadline that is over', 4, () => send(framed(message()), { 'grpc-timeout': '1n' })],
  ['a deadline that cannot be read', 13, () => send(framed(message()), { 'grpc-timeout': 'soon' })],
  ['bytes that are no message', 13, () => send(framed(Buffer.from('\u0001not a message')))],
  ['text that is no UTF-8', 3, () => send(framed(Buffer.of(0x0a, 2, 0xff, 0xfe)))],
  ['more bytes than any message has', 8, () => send(framed(Buffer.alloc(70_000)))],
  ['a method that is none', 12, () => send(framed(message()), {}, '/pb.CloudIdeService/dropTables')],
])('%s ends with status %i, and creates nothing', async (_what, code, act) => {
  expect(await act()).toBe(code);
  expect(await test.client.find(WORKSPACES, test.key('bad'))).toBeUndefined();
  const query = { name: 'bad', namespace: test.namespace };
  expect((await test.call('getPodSpaceStatus', query)).code).toBe('NOT_FOUND');
});
