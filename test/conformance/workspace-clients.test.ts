import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { grpcurl, pythonWithGrpc } from '#lab/grpc/clients.ts';
import { useWorkspaces } from '../../src/programs/testing/workspace-world.fixture.ts';

/** Clients that know nothing of us but the .proto file, or not even that, and the authority's certificate. */
const PROTOS = join(import.meta.dirname, '../../src/gateway/proto');
const INSTALL_MS = 20 * 60_000;
const CALL_MS = 60_000;
const test = useWorkspaces();
let [curl, python, dir] = ['', '', ''];
beforeAll(async () => {
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  curl = await grpcurl(say);
  python = await pythonWithGrpc(say);
  dir = await mkdtemp(join(tmpdir(), 'grpc-'));
}, INSTALL_MS);
afterAll(() => rm(dir, { recursive: true, force: true }));

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

  it('finds services and messages by reflection, and health', async () => {
    expect((await run([test.address(), 'list'])).text.split('\n')).toEqual(
      expect.arrayContaining(['pb.CloudIdeService', 'grpc.health.v1.Health']),
    );
    expect((await run([test.address(), 'describe', 'pb.PodInfo'])).text).toContain('uint32 port = 4;');
    expect(JSON.parse((await run([test.address(), 'grpc.health.v1.Health/Check'])).text)).toEqual({
      status: 'SERVING',
    });
  });

  it('leads a workspace through its life', async () => {
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
  it('leads a workspace through its life', async () => {
    const generate = ['-m', 'grpc_tools.protoc', `-I${PROTOS}`, `--python_out=${dir}`];
    await execa(python, [...generate, `--grpc_python_out=${dir}`, 'cloud-ide.proto'], { timeout: CALL_MS });
    const program = await readFile(join(import.meta.dirname, 'workspace_client.py'), 'utf8');
    await writeFile(join(dir, 'client.py'), program);
    const input = JSON.stringify({
      address: test.address(),
      ca: await readFile(test.caPath(), 'utf8'),
      token: test.token(),
      info: info('python'),
    });
    const { stdout } = await execa(python, ['client.py'], { cwd: dir, input, timeout: CALL_MS });
    expect(JSON.parse(stdout)).toEqual([
      [`${test.namespace}-node`, '10.20.30.40', 9999],
      'ALREADY_EXISTS',
      [1, 'Running'],
      [200, 'success'],
      [0, 'NotExist'],
      'UNAUTHENTICATED',
      'INVALID_ARGUMENT',
    ]);
  });
});
