import { readFile } from 'node:fs/promises';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useWorkspaces } from '#addons/workspace/testing/workspace-world.fixture.ts';
import { grpcurl } from '#lab/grpc/clients.ts';
import { type PythonClient, pythonClient } from '#lab/grpc/python-client.ts';

/** Clients that have only the .proto file, or not even that, and the CA certificate. */
const INSTALL_MS = 20 * 60_000;
const CALL_MS = 60_000;
const test = useWorkspaces();
let curl = '';
let python: PythonClient;
beforeAll(async () => {
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  curl = await grpcurl(say);
  python = await pythonClient(say);
}, INSTALL_MS);
afterAll(() => python.close());

const info = (name: string) => ({
  name,
  namespace: test.namespace,
  image: 'registry.example/editor:1',
  port: 9999,
  resourceLimit: { cpu: '500m', Memory: '1Gi', Storage: '2Gi' },
});

describe('grpcurl', () => {
  const run = async (args: readonly string[], token = test.token()) => {
    const all = ['-cacert', test.caPath(), '-H', `authorization: Bearer ${token}`, ...args];
    const { stdout, stderr, exitCode } = await execa(curl, all, { reject: false, timeout: CALL_MS });
    return { text: stdout, error: stderr, exitCode };
  };
  const call = (method: string, message: object, token?: string) =>
    run(['-d', JSON.stringify(message), test.address(), `pb.CloudIdeService/${method}`], token);

  it('lists services and messages by reflection, and checks health', async () => {
    expect((await run([test.address(), 'list'])).text.split('\n')).toEqual(
      expect.arrayContaining(['pb.CloudIdeService', 'grpc.health.v1.Health']),
    );
    expect((await run([test.address(), 'describe', 'pb.PodInfo'])).text).toContain('uint32 port = 4;');
    expect(JSON.parse((await run([test.address(), 'grpc.health.v1.Health/Check'])).text)).toEqual({
      status: 'SERVING',
    });
  });

  it('creates, reads and deletes a workspace', async () => {
    const query = { name: 'curl', namespace: test.namespace };
    const created = await call('createSpaceAndWaitForRunning', info('curl'));
    expect(JSON.parse(created.text)).toEqual({
      nodeName: `${test.namespace}-node`,
      ip: '10.20.30.40',
      port: 9999,
    });
    expect(JSON.parse((await call('getPodSpaceStatus', query)).text)).toEqual({
      status: 1,
      message: 'Running',
    });
    expect(JSON.parse((await call('deleteSpace', query)).text)).toEqual({ status: 200, message: 'success' });
    expect((await call('getPodSpaceInfo', query)).error).toMatch(/Code: NotFound/);
    expect((await call('getPodSpaceInfo', query, 'nobodys')).error).toMatch(/Code: Unauthenticated/);
  });
});

describe('a Python client, generated from the .proto file,', () => {
  it('creates, reads and deletes a workspace, and gets typed errors', async () => {
    const query = { name: 'python', namespace: test.namespace };
    const server = {
      address: test.address(),
      ca: await readFile(test.caPath(), 'utf8'),
      token: test.token(),
    };
    const answers = await python.calls(server, [
      ['createSpaceAndWaitForRunning', info('python')],
      ['createSpaceAndWaitForRunning', info('python')],
      ['getPodSpaceStatus', query],
      ['deleteSpace', query],
      ['getPodSpaceStatus', query],
      ['getPodSpaceStatus', query, 'nobodys'],
      ['createSpaceAndWaitForRunning', { name: 'x' }],
    ]);
    expect(answers).toEqual([
      [`${test.namespace}-node`, '10.20.30.40', 9999],
      expect.objectContaining({ code: 'ALREADY_EXISTS' }),
      [1, 'Running'],
      [200, 'success'],
      expect.objectContaining({ code: 'NOT_FOUND' }),
      expect.objectContaining({ code: 'UNAUTHENTICATED' }),
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    ]);
  });
});
