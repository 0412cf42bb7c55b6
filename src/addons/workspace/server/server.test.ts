import { Client, credentials, Metadata, ServerCredentials, status } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { createGateway, type Gateway } from './server.ts';

const WAITS = '/pb.CloudIdeService/getPodSpaceStatus';
const HEALTH = '/grpc.health.v1.Health/Watch';
const same = (bytes: Buffer) => bytes;

let gateway: Gateway;
let client: Client;
let waiting = 0;

beforeEach(async () => {
  waiting = 0;
  gateway = createGateway({
    clock: systemClock,
    log: createLogger('silent'),
    callers: {
      personOf: async (metadata) => ({
        username: String(metadata.get('authorization')[0]),
        groups: [],
        extra: {},
      }),
      allow: async () => {},
    },
    methods: {
      getPodSpaceStatus: ({ signal }) => {
        waiting += 1;
        return new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason)),
        );
      },
    },
  });
  const port = await new Promise<number>((resolve, reject) =>
    gateway.server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  gateway.open();
  client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
});
afterEach(async () => {
  client.close();
  await gateway.close();
});

/** Returns the status code of a call by that user. */
function call(username: string): Promise<status | undefined> {
  const metadata = new Metadata();
  metadata.set('authorization', username);
  return new Promise((resolve) =>
    client.makeUnaryRequest(WAITS, same, same, Buffer.alloc(0), metadata, (error) => resolve(error?.code)),
  );
}

it('a user cannot use up the calls of other users', async () => {
  const calls = Array.from({ length: 2_000 }, () => call('alice'));
  await expect.poll(() => waiting, { timeout: 20_000 }).toBe(2_000);
  expect(await call('alice')).toBe(status.RESOURCE_EXHAUSTED);
  const bob = call('bob');
  await expect.poll(() => waiting).toBe(2_001);
  await gateway.close();
  expect(await bob).toBe(status.UNAVAILABLE);
  expect(new Set(await Promise.all(calls))).toEqual(new Set([status.UNAVAILABLE]));
});

it('closes although a client watches its health', async () => {
  const watch = client.makeServerStreamRequest(HEALTH, same, same, Buffer.alloc(0));
  const ended = new Promise((resolve) => watch.once('error', resolve));
  await new Promise((resolve) => watch.once('data', resolve));
  watch.resume();
  await gateway.close();
  expect(await ended).toBeInstanceOf(Error);
});
