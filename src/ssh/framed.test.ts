import { expect, it } from 'vitest';
import { framed } from './framed.ts';

/** Returns a frame with its mark, which the host can read in its command line. */
function known() {
  const frame = framed('true');
  const marker = / sh (matryoshka-[0-9a-f]+) /.exec(frame.line)?.[1] ?? '';
  return { frame, marker };
}

it.each<[string, (marker: string) => string, boolean, { code: number; stdout: string }]>([
  [
    'what stands between the marks',
    (marker) => `motd\n${marker}\nyes\n${marker} 3\nbye\n`,
    true,
    { code: 3, stdout: 'yes\n' },
  ],
  [
    'all after the first mark without an end',
    (marker) => `${marker}\nyes\n`,
    false,
    { code: 137, stdout: 'yes\n' },
  ],
  ['no end that was cut', (marker) => `${marker}\nyes\n${marker} 3`, false, { code: 137, stdout: 'yes\n' }],
  [
    'no end before the beginning',
    (marker) => `${marker} 3\n${marker}\nyes\n`,
    false,
    { code: 137, stdout: 'yes\n' },
  ],
  ['all that was said without a mark', () => 'no login\n', false, { code: 137, stdout: 'no login\n' }],
])('reads %s', (_what, text, whole, read) => {
  const { frame, marker } = known();
  const result = { code: 137, stdout: text(marker), stderr: '' };
  expect(frame.whole(result)).toBe(whole);
  expect(frame.read(result)).toEqual({ ...read, stderr: '' });
});

it('reads a host that repeats the marker in linear time', () => {
  const { frame, marker } = known();
  const text = `${marker}\n`.repeat(Math.floor(2 ** 20 / (marker.length + 1)));
  const result = { code: 137, stdout: text, stderr: text };
  const before = process.cpuUsage();
  expect(frame.whole(result)).toBe(false);
  frame.read(result);
  const { user, system } = process.cpuUsage(before);
  // A search that restarts at each mark would take half a minute.
  expect((user + system) / 1000).toBeLessThan(1000);
});
