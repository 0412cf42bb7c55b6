import { once } from 'node:events';
import { connect } from 'node:http2';
import { expect, it, onTestFinished } from 'vitest';
import {
  END_HEADERS,
  END_STREAM,
  type Frame,
  frame,
  GOAWAY,
  HEADERS,
  openFrames,
  PING,
  requestTo,
} from './testing/h2-frames.fixture.ts';
import { endpoint, usePlane } from './testing/plane.fixture.ts';

const fresh = usePlane();
const idle = usePlane();
const busy = usePlane();

const request = (stream: number, host: string) =>
  frame(HEADERS, END_HEADERS | END_STREAM, stream, requestTo(host));
const answers = (frames: readonly Frame[]) =>
  frames.filter(({ type }) => type === HEADERS).map(({ stream }) => stream);
const lastOf = ({ body }: Frame) => body.readUInt32BE(0);
const never = () => false;

it('a session of HTTP/2 that begins while the replica sheds has one answer, and ends with it', async () => {
  fresh.plane.shed();
  const session = connect(`https://127.0.0.1:${fresh.httpsPort}`, { rejectUnauthorized: false });
  const ended = once(session, 'close');
  const stream = session.request({ ':authority': 'none' });
  const [answer] = await once(stream.resume(), 'response');
  expect(answer[':status']).toBe(503);
  await ended;
});

it('one that is idle by then is answered what it asks next, and ends with that', async () => {
  const connection = await openFrames(idle.httpsPort);
  onTestFinished(connection.close);
  connection.send(request(1, 'none'));
  await connection.until(({ stream, flags }) => stream === 1 && (flags & END_STREAM) !== 0);
  // Who answers the PING has done with the stream.
  connection.send(frame(PING, 0, 0, Buffer.alloc(8)));
  await connection.until(({ type }) => type === PING);
  idle.plane.shed();
  connection.send(request(3, 'none'));
  const { frames, hasEnded } = await connection.until(never);
  expect([answers(frames), hasEnded]).toEqual([[3], true]);
});

it('one with requests under way answers them, and says which it has not begun', async () => {
  const asked = Promise.withResolvers<() => void>();
  const where = await endpoint((_asked, answer) => asked.resolve(() => answer.end('x')));
  busy.route('waits', [where]);
  const connection = await openFrames(busy.httpsPort);
  onTestFinished(connection.close);
  connection.send(request(1, 'waits'));
  const answer = await asked.promise;
  busy.plane.shed();
  const told = await connection.until(({ type }) => type === GOAWAY);
  expect(told.frames.slice(-1).map(lastOf)).toEqual([1]);
  connection.send(request(3, 'waits'));
  answer();
  const { frames, hasEnded } = await connection.until(never);
  expect([answers(frames), hasEnded]).toEqual([[1], true]);
});
