import { createServer, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { keyPair } from '#base/testing/key-pair.ts';
import { connect } from './connection.ts';
import { SshError } from './ssh-error.ts';
import { sshHost } from './testing/ssh-host.ts';

const sockets: Socket[] = [];
const closed = Promise.withResolvers<void>();
const server = createServer((socket) => {
  sockets.push(socket);
  // A socket that is not read never notices its end.
  socket
    .resume()
    .on('error', () => {})
    .on('close', () => closed.resolve());
});
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});

it('fails once on a host that accepts a connection but does not answer', async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const target = { host: '127.0.0.1', port, user: 'root', password: 'x', knownHosts: '', timeoutMs: 200 };
  const failure = await connect(target).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(SshError);
  expect(failure).toMatchObject({ reason: 'Unreachable' });
  // The socket's end arrives after the timeout; without a listener, it would end this process.
  await closed.promise;
});

it('reports a closed port, a silent port and another protocol with the same message', async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const open = typeof address === 'object' && address ? address.port : 0;
  const other = createServer(
    (socket) => void socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n'),
  );
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const at = other.address();
  const http = typeof at === 'object' && at ? at.port : 0;
  const says = async (port: number) => {
    const target = { host: '127.0.0.1', port, user: 'root', password: 'x', knownHosts: '', timeoutMs: 300 };
    const failure = await connect(target).catch((error: unknown) => error);
    return failure instanceof SshError ? failure.message.replace(`:${port} `, ':PORT ') : failure;
  };
  const [silent, spoken, closedPort] = [await says(open), await says(http), await says(1)];
  other.close();
  expect([silent, spoken]).toEqual([closedPort, closedPort]);
  expect(closedPort).toMatch(/does not answer as an SSH server; check its address and port/);
});

it('reports Unreachable if the connection ends before or during a command', async () => {
  await using host = await sshHost('grants');
  const { run, close } = await connect(host.target('root'));
  const during = run('sleep 60', { timeoutMs: 10_000 }).catch((error: unknown) => error);
  await expect.poll(() => host.asked).toHaveLength(1);
  await host.hangUp();
  expect(await during).toMatchObject({ name: 'SshError', reason: 'Unreachable' });
  await expect(run('true', { timeoutMs: 10_000 })).rejects.toMatchObject({
    name: 'SshError',
    reason: 'Unreachable',
    message: expect.stringContaining('runs no command'),
  });
  close();
});

it('logs in with the key, and with the password only if the key is refused', async () => {
  const byBoth = async (lets: (method: string) => boolean) => {
    await using host = await sshHost('grants', undefined, lets);
    const { close } = await connect({ ...host.target('root', 'x'), privateKey: keyPair().private });
    close();
    return [...new Set(host.methods)];
  };
  expect(await byBoth((method) => method !== 'none')).toEqual(['none', 'publickey']);
  expect(await byBoth((method) => method === 'password')).toEqual(['none', 'publickey', 'password']);
});
