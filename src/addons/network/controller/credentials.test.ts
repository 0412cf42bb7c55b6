import { expect, it } from 'vitest';
import { type Secret, secretData } from '#api/core.ts';
import type { Handler } from '#runtime/cache/informer.ts';
import { clientOver } from '#runtime/client/client.ts';
import { ApiError } from '#runtime/wire/api-error.ts';
import type { Network } from '../api.ts';
import { createCredentialStore } from './credentials.ts';

/** Returns a store of credentials whose Secret may be deleted, and events of deleted Networks. */
function store() {
  const secret: Secret = { metadata: { name: 'key' }, data: secretData({ password: 'p' }) };
  const server = { has: true };
  const handlers: Handler<Network>[] = [];
  const client = clientOver({
    async call() {
      if (!server.has) throw new ApiError('NotFound', 'it is not there', { status: 404 });
      return secret;
    },
    stream: () => Promise.reject(new Error('not here')),
    close: async () => {},
  });
  const credentials = createCredentialStore({
    addHandler: (handler) => {
      handlers.push(handler);
      return () => {};
    },
  });
  return {
    server,
    of: (network: Network) => credentials.of(client, network),
    lose: (network: Network) =>
      handlers.forEach((handler) => void handler.delete?.(network, { stale: false })),
  };
}
const network: Network = {
  metadata: { namespace: 'n', name: 'a', uid: 'a' },
  spec: { cidr: '10.9.0.0/24', gateway: '10.9.0.1', credentialsSecret: 'key' },
};
const going: Network = {
  ...network,
  metadata: { ...network.metadata, deletionTimestamp: '2026-01-01T00:00:09Z' },
};

it('keeps the last Secret for a Network in deletion, and for no other', async () => {
  const { server, of } = store();
  expect(await of(network)).toMatchObject({ password: 'p' });
  server.has = false;
  expect(await of(network)).toMatchObject({ reason: 'CredentialsMissing' });
  expect(await of(going)).toMatchObject({ password: 'p' });
});

it('forgets the Secret with its Network', async () => {
  const { server, of, lose } = store();
  await of(network);
  lose(network);
  server.has = false;
  expect(await of(going)).toMatchObject({ reason: 'CredentialsMissing' });
});
