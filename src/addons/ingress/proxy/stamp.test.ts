import { expect, it } from 'vitest';
import { createStamp } from './stamp.ts';

it('an answer has a date, of this second, and a server; what its endpoint told of either is kept', () => {
  let now = new Date(0);
  const stamp = createStamp({ now: () => now });
  const stamped = (...fields: string[]) => {
    stamp(fields);
    return Object.fromEntries(fields.flatMap((name, at) => (at % 2 === 0 ? [[name, fields[at + 1]]] : [])));
  };
  const first = 'Thu, 01 Jan 1970 00:00:00 GMT';
  expect(stamped('x', 'y')).toEqual({ x: 'y', server: 'matryoshka', date: first });
  expect(stamped('date', 'then', 'server', 'own')).toEqual({ date: 'then', server: 'own' });
  now = new Date(999);
  expect(stamped()).toMatchObject({ date: first });
  now = new Date(1_000);
  expect(stamped()).toMatchObject({ date: 'Thu, 01 Jan 1970 00:00:01 GMT' });
});
