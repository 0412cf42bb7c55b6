import { expect, it } from 'vitest';
import { createManualClock } from '#base/testing/manual-clock.ts';
import { networkOf, strangersBy } from './strangers.ts';

const tooMany = expect.objectContaining({ statusCode: 429 });
const admitted = (admit: () => void, times: number): number => {
  let count = 0;
  for (let tried = 0; tried < times; tried += 1) {
    try {
      admit();
      count += 1;
    } catch (error) {
      expect(error).toEqual(tooMany);
    }
  }
  return count;
};

it('limits invalid tokens of one address, but not another address or a valid token', async () => {
  const clock = createManualClock();
  const { admit } = strangersBy(clock);
  admit('192.0.2.1', 'Bearer good')();
  let made = 0;
  const junk = (ip: string) => () => {
    made += 1;
    admit(ip, `Bearer ${made}`);
  };
  expect(admitted(junk('192.0.2.1'), 1_000)).toBe(100);
  expect(() => admit('192.0.2.1', undefined)).toThrow(tooMany);
  expect(() => admit('192.0.2.1', 'Bearer good')).not.toThrow();
  expect(admitted(junk('192.0.2.2'), 50)).toBe(50);
  await clock.advance(1_000);
  expect(admitted(junk('192.0.2.1'), 1_000)).toBe(20);
  await clock.advance(600_000);
  expect(admitted(junk('192.0.2.1'), 1_000)).toBe(100);
  expect(() => admit('192.0.2.1', 'Bearer good')).toThrow(tooMany);
});

it('does not count valid tokens against the limit of an address', () => {
  const { admit } = strangersBy(createManualClock());
  for (let token = 0; token < 500; token += 1) admit('192.0.2.1', `Bearer ${token}`)();
});

it('does not count parallel requests with one new valid token against the limit of an address', () => {
  const { admit } = strangersBy(createManualClock());
  const underWay = Array.from({ length: 100 }, () => admit('192.0.2.1', 'Bearer good'));
  for (const isValid of underWay) isValid();
  for (let made = 0; made < 100; made += 1) admit('192.0.2.1', `Bearer ${made}`);
});

it.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::'],
  ['2001:db8:1:2::7', '2001:db8:1:2::'],
])('counts %s as %s', (ip, network) => {
  expect(networkOf(ip)).toBe(network);
});
