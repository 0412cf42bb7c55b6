import { expect, it } from 'vitest';
import { accessLine } from './access-log.ts';
import { unreadable } from './traffic.ts';

it('a line is short, whatever the client sent', () => {
  const long = 'x'.repeat(20_000);
  const peer = { remoteAddress: '192.0.2.1', isSecure: true };
  const line = accessLine({ ...unreadable(peer, 400), method: long, host: long, path: long }, new Date(0));
  // Beyond this, what several processes write to one pipe is mixed.
  expect(line.length).toBeLessThan(4_096);
  expect(JSON.parse(line)).toMatchObject({ status: 400, client: '192.0.2.1', host: 'x'.repeat(255) });
});
