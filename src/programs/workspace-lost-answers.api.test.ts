import { beforeEach, expect, it } from 'vitest';
import { WORKSPACES, type Workspace } from '#api/workspace.ts';
import type { Client } from '#runtime/client/client.ts';
import { ApiError } from '#runtime/wire/api-error.ts';
import { useWorkspaces } from './testing/workspace-world.fixture.ts';

/** Writes of the gRPC server that fail, or whose answers are lost: what it does then with what it made. */
type Write = 'create' | 'patch' | 'delete';
const lost: { write: Write; isDone: boolean }[] = [];
const failing = (client: Client): Client => {
  const unless = async <T>(write: Write, act: () => Promise<T>): Promise<T> => {
    const at = lost.findIndex((one) => one.write === write);
    const [fault] = at === -1 ? [] : lost.splice(at, 1);
    if (!fault || fault.isDone) {
      const answer = await act();
      if (!fault) return answer;
    }
    throw new ApiError('Connection', 'the connection was reset', { status: 0 });
  };
  return {
    ...client,
    create: (...given) => unless('create', () => client.create(...given)),
    patch: (...given) => unless('patch', () => client.patch(...given)),
    delete: (...given) => unless('delete', () => client.delete(...given)),
  };
};
const test = useWorkspaces(failing);
beforeEach(() => void lost.splice(0));
const CREATE = 'createSpaceAndWaitForRunning';
const info = (name: string, image = 'editor') => ({ name, namespace: test.namespace, image, port: 1 });
const find = (name: string) => test.client.find<Workspace>(WORKSPACES, test.key(name));

it('one that was made though the answer was lost is the call’s own', async () => {
  lost.push({ write: 'create', isDone: true });
  expect(await test.call(CREATE, info('found'))).toMatchObject({ code: 'OK', value: { ip: '10.20.30.40' } });
  expect((await find('found'))?.metadata.annotations ?? {}).toEqual({});
});

it('one that was not made is told so, and may be asked for again', async () => {
  lost.push({ write: 'create', isDone: false });
  expect(await test.call(CREATE, info('never'))).toMatchObject({
    code: 'UNAVAILABLE',
    details: expect.stringContaining('connection was reset'),
  });
  expect(await find('never')).toBeUndefined();
  expect((await test.call(CREATE, info('never'))).code).toBe('OK');
});

it('somebody else’s of that name is never taken for it', async () => {
  const spec = { image: 'silent', port: 1 };
  const { uid } = (await test.client.create<Workspace>(WORKSPACES, { metadata: test.key('theirs'), spec }))
    .metadata;
  lost.push({ write: 'create', isDone: false });
  expect((await test.call(CREATE, info('theirs'))).code).toBe('UNAVAILABLE');
  expect((await find('theirs'))?.metadata.uid).toBe(uid);
});

it('one that cannot be marked as answered is removed', async () => {
  lost.push({ write: 'patch', isDone: false });
  expect((await test.call(CREATE, info('unmarked'))).code).toBe('UNAVAILABLE');
  expect(await find('unmarked')).toBeUndefined();
});

it('one that was marked though the answer was lost is answered, and stays', async () => {
  lost.push({ write: 'patch', isDone: true });
  expect((await test.call(CREATE, info('marked'))).code).toBe('OK');
  expect((await find('marked'))?.metadata.annotations ?? {}).toEqual({});
});

it('its removal is tried again', async () => {
  lost.push({ write: 'delete', isDone: false }, { write: 'delete', isDone: true });
  expect((await test.call(CREATE, info('stubborn', 'misnamed'))).code).toBe('INVALID_ARGUMENT');
  expect(await find('stubborn')).toBeUndefined();
});
