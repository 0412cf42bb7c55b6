import { beforeEach, describe, expect, it } from 'vitest';
import type { Client } from '#runtime/client/client.ts';
import { ApiError } from '#runtime/wire/api-error.ts';
import { WORKSPACES, type Workspace, workspaceAnnotations } from '../api.ts';
import { useWorkspaces } from '../testing/workspace-world.fixture.ts';

/** Tests writes of the gRPC server that fail, or whose answers are lost, and the cleanup after them. */
type Write = 'create' | 'update' | 'patch' | 'delete';
/** `after`: number of writes of that kind that succeed first. */
const lost: { write: Write; isDone: boolean; after?: number; error?: ApiError }[] = [];
const failing = (client: Client): Client => {
  const unless = async <T>(write: Write, act: () => Promise<T>): Promise<T> => {
    const at = lost.findIndex((one) => one.write === write);
    const next = lost[at];
    if (next?.after) {
      next.after -= 1;
      return act();
    }
    const [fault] = at === -1 ? [] : lost.splice(at, 1);
    if (!fault || fault.isDone) {
      const answer = await act();
      if (!fault) return answer;
    }
    throw fault.error ?? new ApiError('Connection', 'the connection was reset', { status: 0 });
  };
  return {
    ...client,
    create: (...given) => unless('create', () => client.create(...given)),
    update: (...given) => unless('update', () => client.update(...given)),
    patch: (...given) => unless('patch', () => client.patch(...given)),
    delete: (...given) => unless('delete', () => client.delete(...given)),
  };
};
const test = useWorkspaces(failing);
beforeEach(() => void lost.splice(0));
const CREATE = 'createSpaceAndWaitForRunning';
const info = (name: string, image = 'editor') => ({ name, namespace: test.namespace, image, port: 1 });
const START = 'startSpaceAndWaitForRunning';
const query = (name: string) => ({ name, namespace: test.namespace });
/** Creates a Workspace and waits until its controller no longer writes it. */
async function make(name: string, running: boolean, image = 'editor'): Promise<void> {
  const spec = { image, port: 1, running };
  await test.client.create<Workspace>(WORKSPACES, { metadata: test.key(name), spec });
  const phase = async () => (await find(name))?.status?.phase;
  await expect.poll(phase, { timeout: 15_000 }).toBe(running ? 'Running' : 'Stopped');
}
const find = (name: string) => test.client.find<Workspace>(WORKSPACES, test.key(name));

describe('a call that creates a workspace', () => {
  it('succeeds if only the answer of the creation was lost', async () => {
    lost.push({ write: 'create', isDone: true });
    expect(await test.call(CREATE, info('found'))).toMatchObject({
      code: 'OK',
      value: { ip: '10.20.30.40' },
    });
    expect((await find('found'))?.metadata.annotations ?? {}).toEqual({});
  });

  it('reports that nothing was created, and may be repeated', async () => {
    lost.push({ write: 'create', isDone: false });
    expect(await test.call(CREATE, info('never'))).toMatchObject({
      code: 'UNAVAILABLE',
      details: expect.stringContaining('connection was reset'),
    });
    expect(await find('never')).toBeUndefined();
    expect((await test.call(CREATE, info('never'))).code).toBe('OK');
  });

  it('never adopts a foreign workspace of that name', async () => {
    const spec = { image: 'silent', port: 1 };
    const { uid } = (await test.client.create<Workspace>(WORKSPACES, { metadata: test.key('theirs'), spec }))
      .metadata;
    lost.push({ write: 'create', isDone: false });
    expect((await test.call(CREATE, info('theirs'))).code).toBe('UNAVAILABLE');
    expect((await find('theirs'))?.metadata.uid).toBe(uid);
  });

  it('removes the workspace if it cannot be annotated as answered', async () => {
    lost.push({ write: 'update', isDone: false });
    expect((await test.call(CREATE, info('unmarked'))).code).toBe('UNAVAILABLE');
    expect(await find('unmarked')).toBeUndefined();
  });

  it('succeeds if only the answer of the annotation was lost', async () => {
    lost.push({ write: 'update', isDone: true });
    expect((await test.call(CREATE, info('marked'))).code).toBe('OK');
    expect((await find('marked'))?.metadata.annotations ?? {}).toEqual({});
  });

  it('repeats the annotation after a conflict', async () => {
    const error = new ApiError('Conflict', 'it was written since', { status: 409 });
    lost.push({ write: 'update', isDone: false, error });
    expect((await test.call(CREATE, info('written'))).code).toBe('OK');
    expect(lost).toEqual([]);
    expect((await find('written'))?.metadata.annotations ?? {}).toEqual({});
  });

  it('repeats the removal of the workspace', async () => {
    lost.push({ write: 'delete', isDone: false }, { write: 'delete', isDone: true });
    expect((await test.call(CREATE, info('stubborn', 'misnamed'))).code).toBe('INVALID_ARGUMENT');
    expect(await find('stubborn')).toBeUndefined();
  });
});

describe.each([
  ['was not done', false],
  ['was done though its answer was lost', true],
])('a write that %s', (_how, isDone) => {
  const called = (state: string): string => `${state}-${isDone}`;
  const reported = { code: 'UNAVAILABLE', details: expect.stringContaining('connection was reset') };
  const stateOf = async (name: string) => {
    const found = await find(name);
    return found && { running: found.spec.running, annotations: found.metadata.annotations ?? {} };
  };

  it('in a start is undone and reported, and may be repeated', async () => {
    const name = called('start');
    await make(name, false);
    lost.push({ write: 'patch', isDone });
    expect(await test.call(START, query(name))).toMatchObject(reported);
    expect(await stateOf(name)).toEqual({ running: false, annotations: {} });
    expect(await test.call(START, query(name))).toMatchObject({ code: 'OK', value: { ip: '10.20.30.40' } });
    expect(await stateOf(name)).toEqual({ running: true, annotations: {} });
  });

  it('in the annotation of a start decides whether the workspace keeps running', async () => {
    const name = called('marked-start');
    await make(name, false);
    lost.push({ write: 'update', isDone });
    expect((await test.call(START, query(name))).code).toBe(isDone ? 'OK' : 'UNAVAILABLE');
    expect(await stateOf(name)).toEqual({ running: isDone, annotations: {} });
  });

  it('in the stop after a failed start is repeated', async () => {
    const name = called('start-in-vain');
    await make(name, false, 'misnamed');
    lost.push({ write: 'patch', isDone, after: 1 });
    expect((await test.call(START, query(name))).code).toBe('INVALID_ARGUMENT');
    expect(await stateOf(name)).toEqual({ running: false, annotations: {} });
  });

  it('in a stop is reported, and may be repeated', async () => {
    const name = called('stop');
    await make(name, true);
    lost.push({ write: 'patch', isDone });
    expect(await test.call('stopSpace', query(name))).toMatchObject(reported);
    expect(await stateOf(name)).toEqual({ running: !isDone, annotations: {} });
    expect((await test.call('stopSpace', query(name))).code).toBe('OK');
    expect(await stateOf(name)).toEqual({ running: false, annotations: {} });
  });

  it('in a stop during a creation ends that call, or leaves it unaffected', async () => {
    const name = called('stop-early');
    const creating = test.call(CREATE, info(name, 'silent'), { withinMs: 3_000 });
    await expect.poll(() => find(name)).toBeDefined();
    lost.push({ write: 'patch', isDone });
    expect(await test.call('stopSpace', query(name))).toMatchObject(reported);
    expect((await creating).code).toBe(isDone ? 'ABORTED' : 'DEADLINE_EXCEEDED');
    expect(await stateOf(name)).toEqual(isDone ? { running: false, annotations: {} } : undefined);
  });

  it('in a keepSpace is reported, and a repetition keeps the first time', async () => {
    const name = called('keep');
    await make(name, true);
    lost.push({ write: 'patch', isDone });
    expect(await test.call('keepSpace', query(name))).toMatchObject(reported);
    const first = (await find(name))?.metadata.annotations?.[workspaceAnnotations.activeAt];
    expect(first === undefined).toBe(!isDone);
    expect((await test.call('keepSpace', query(name))).code).toBe('OK');
    const second = (await find(name))?.metadata.annotations?.[workspaceAnnotations.activeAt];
    expect(second).toEqual(first ?? expect.any(String));
  });

  it('in a deletion is reported, and a repetition finds no workspace', async () => {
    const name = called('delete');
    await make(name, false);
    lost.push({ write: 'delete', isDone });
    expect(await test.call('deleteSpace', query(name))).toMatchObject(reported);
    expect((await test.call('deleteSpace', query(name))).code).toBe(isDone ? 'NOT_FOUND' : 'OK');
    expect(await find(name)).toBeUndefined();
  });
});
