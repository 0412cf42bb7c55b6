import { once } from 'node:events';
import { connect } from 'node:http2';
import { expect, it } from 'vitest';
import { usePlane } from './testing/plane.fixture.ts';

const test = usePlane();

it('a session of HTTP/2 that begins while the replica sheds has one answer, and ends with it', async () => {
  test.plane.shed();
  const session = connect(`https://127.0.0.1:${test.httpsPort}`, { rejectUnauthorized: false });
  const ended = once(session, 'close');
  const stream = session.request({ ':authority': 'none' });
  const [answer] = await once(stream.resume(), 'response');
  expect(answer[':status']).toBe(503);
  await ended;
});
