import { expect, it } from 'vitest';
import { follow, NotFollowed } from './follow.ts';
import { BROKEN_OFF, type LogEnd } from './read-routes.ts';

const cut = () => Promise.reject(new Error('other side closed'));

/** Returns the lines that a follower gets from a log; each attempt reads the given lines. */
async function reportedOf(
  ...tries: { lines: string[]; end?: () => Promise<LogEnd | undefined> }[]
): Promise<string[]> {
  const reported: string[] = [];
  const left = [...tries];
  await follow(
    async (onLine) => {
      const next = left.shift();
      if (!next) throw new NotFollowed('no more tries');
      next.lines.forEach(onLine);
      return next.end?.();
    },
    (line) => reported.push(line),
    new AbortController().signal,
    0,
  );
  return reported;
}

it('is told once, though the server that told it was killed, and the next one stopped', async () => {
  const reported = await reportedOf(
    { lines: ['head', 'a'], end: cut },
    { lines: [], end: cut },
    { lines: ['head', 'a', 'b', BROKEN_OFF] },
    { lines: ['head', 'a', 'b', 'b', 'end'] },
  );
  expect(reported).toEqual(['head', 'a', 'b', 'b', 'end']);
});

it('is told whole where it is the log of another operation by now', async () => {
  const reported = await reportedOf(
    { lines: ['head', 'a', 'b'], end: cut },
    { lines: ['head', 'c', 'b', 'end'] },
  );
  expect(reported).toEqual(['head', 'a', 'b', 'c', 'b', 'end']);
});

it('is not asked for again where it never began, or where the answer is no', async () => {
  await expect(reportedOf({ lines: [], end: cut })).rejects.toThrow('other side closed');
  await expect(reportedOf({ lines: ['head'], end: cut })).rejects.toThrow('no more tries');
});

it('is told to its end, whatever a host prints', async () => {
  const lines = ['head', BROKEN_OFF, 'b', BROKEN_OFF];
  expect(await reportedOf({ lines, end: async () => 'complete' })).toEqual(lines);
});

it('goes on where the server says outside the text that it breaks off', async () => {
  const reported = await reportedOf(
    { lines: ['head', 'a'], end: async () => 'broken-off' },
    { lines: ['head', 'a', 'end'] },
  );
  expect(reported).toEqual(['head', 'a', 'end']);
});
