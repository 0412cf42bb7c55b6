import { expect, it } from 'vitest';
import { follow, NotFollowed } from './follow.ts';
import { BROKEN_OFF, type LogEnd } from './read-routes.ts';

let interruptions = 0;
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
    { pauseMs: 0, onInterrupted: () => (interruptions += 1) },
  );
  return reported;
}

it('prints a log once, although servers were killed and stopped meanwhile', async () => {
  interruptions = 0;
  const reported = await reportedOf(
    { lines: ['head', 'a'], end: cut },
    { lines: [], end: cut },
    { lines: ['head', 'a', 'b', BROKEN_OFF] },
    { lines: ['head', 'a', 'b', 'b', 'end'] },
  );
  expect(reported).toEqual(['head', 'a', 'b', 'b', 'end']);
  // One for the kill and the failed attempt after it, one for the stop.
  expect(interruptions).toBe(2);
});

it('prints the whole log if it now belongs to another operation', async () => {
  const reported = await reportedOf(
    { lines: ['head', 'a', 'b'], end: cut },
    { lines: ['head', 'c', 'b', 'end'] },
  );
  expect(reported).toEqual(['head', 'a', 'b', 'c', 'b', 'end']);
});

it('does not retry if the log never started or the server refuses', async () => {
  await expect(reportedOf({ lines: [], end: cut })).rejects.toThrow('other side closed');
  await expect(reportedOf({ lines: ['head'], end: cut })).rejects.toThrow('no more tries');
});

it('prints a log to its end, even if a host prints the line of an interruption', async () => {
  const lines = ['head', BROKEN_OFF, 'b', BROKEN_OFF];
  expect(await reportedOf({ lines, end: async () => 'complete' })).toEqual(lines);
});

it('continues if the server reports an interruption outside the text', async () => {
  const reported = await reportedOf(
    { lines: ['head', 'a'], end: async () => 'broken-off' },
    { lines: ['head', 'a', 'end'] },
  );
  expect(reported).toEqual(['head', 'a', 'end']);
});
