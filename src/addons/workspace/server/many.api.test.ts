import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { expect, it } from 'vitest';
import { PODS, type Pod } from '#api/core.ts';
import { createServerCertificates } from '#lab/apiserver/certificates.ts';
import type { Client } from '#runtime/client/client.ts';
import { WORKSPACES, type Workspace } from '../api.ts';
import { useWorkspaces } from '../testing/workspace-world.fixture.ts';

/** Tests many concurrent waiting calls, and the shutdown of the server during them. The tests depend on their order. */
const CALLERS = 1_000;
const watched: string[] = [];
const counting = (client: Client): Client => ({
  ...client,
  watch(resource, options, onEvent) {
    watched.push(resource.plural);
    return client.watch(resource, options, onEvent);
  },
});
const test = useWorkspaces(counting);
const START = 'startSpaceAndWaitForRunning';
const query = (name: string) => ({ name, namespace: test.namespace });
const find = (name: string) => test.client.find<Workspace>(WORKSPACES, test.key(name));
const make = (name: string, running: boolean) =>
  test.client.create<Workspace>(WORKSPACES, {
    metadata: test.key(name),
    spec: { image: 'silent', port: 1, running },
  });
const until = (probe: () => Promise<unknown>) => expect.poll(probe, { timeout: 20_000 });

it('a thousand waiting calls cost one watch', async () => {
  await make('many', true);
  const calls = Array.from({ length: CALLERS }, () => test.call(START, query('many'), { withinMs: 50_000 }));
  await until(() => test.client.find(PODS, test.key('many'))).toBeDefined();
  // The last call has its answer, so all earlier ones wait already, or will at once.
  expect((await test.call('getPodSpaceStatus', query('many'))).code).toBe('OK');
  const status: Pod['status'] & object = {
    phase: 'Running',
    podIP: '10.0.0.9',
    conditions: [{ type: 'Ready', status: 'True' }],
  };
  const by = { type: 'strategic', subresource: 'status' } as const;
  await test.client.patch(PODS, test.key('many'), { status }, by);
  const answered = await Promise.all(calls);
  expect(new Set(answered.map(({ code }) => code))).toEqual(new Set(['OK']));
  expect(answered.every(({ value }) => JSON.stringify(value).includes('10.0.0.9'))).toBe(true);
  expect(watched).toEqual(['workspaces']);
}, 120_000);

it('a new certificate is used while calls continue', async () => {
  const [host = '', port = ''] = test.address().split(':');
  const served = () =>
    new Promise<string>((resolve, reject) => {
      const socket = connect({ host, port: Number(port), rejectUnauthorized: false }, () => {
        resolve(socket.getPeerCertificate().fingerprint256);
        socket.destroy();
      });
      socket.once('error', reject);
    });
  const before = await served();
  const { cert, key } = await createServerCertificates();
  for (const [name, text] of [
    ['tls.crt', cert],
    ['tls.key', key],
  ] as const) {
    await writeFile(join(test.certDir(), `${name}.new`), text);
    await rename(join(test.certDir(), `${name}.new`), join(test.certDir(), name));
  }
  await until(served).not.toBe(before);
  expect((await test.call('getPodSpaceStatus', query('many'))).code).toBe('OK');
});

it('waiting calls get UNAVAILABLE when the server stops, and their changes are undone', async () => {
  await make('stopped', false);
  const info = { ...query('made'), image: 'silent', port: 1 };
  const calls = [
    test.call('createSpaceAndWaitForRunning', info),
    test.call(START, query('stopped')),
    test.call(START, query('stopped')),
  ];
  await until(() => find('made')).toBeDefined();
  await until(async () => (await find('stopped'))?.spec.running).toBe(true);
  await test.stopServer();
  for (const call of calls)
    expect(await call).toMatchObject({ code: 'UNAVAILABLE', details: expect.stringContaining('stopping') });
  expect(await find('made')).toBeUndefined();
  expect((await find('stopped'))?.spec.running).toBe(false);
});
