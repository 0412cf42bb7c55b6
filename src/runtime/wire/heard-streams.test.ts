import { once } from 'node:events';
import { connect, createServer } from 'node:http2';
import { expect, it } from 'vitest';
import { hearStreams } from './heard-streams.ts';

it('survives an error of a stream without listeners, and keeps the listeners of others', async () => {
  hearStreams();
  const server = createServer((_request, response) => void response.write('on and on'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const session = connect(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`);
  session.on('error', () => {});
  const [unheard, heard] = [session.request({ ':path': '/a' }), session.request({ ':path': '/b' })];
  await Promise.all([unheard, heard].map((stream) => once(stream, 'response')));
  const reported: string[] = [];
  heard.on('error', ({ message }) => reported.push(message));
  const closed = Promise.all(
    [unheard, heard].map((stream) => new Promise((done) => stream.on('close', done))),
  );
  session.destroy(new Error('the pool is destroyed'));
  await closed;
  expect(reported).toEqual(['the pool is destroyed']);
  server.close();
});
