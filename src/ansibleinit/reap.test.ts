import { execa } from 'execa';
import { expect, it } from 'vitest';

const PR_SET_CHILD_SUBREAPER = 36;
const BOUND_MS = 10_000;

/** Reaps like process 1, which adopts orphans. The child leaves an orphan and ends with 7. */
const program = `
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import koffi from 'koffi';
import { reapOrphans } from ${JSON.stringify(new URL('./reap.ts', import.meta.url).href)};

koffi.load(null).func('int prctl(int option, unsigned long argument)')(${PR_SET_CHILD_SUBREAPER}, 1);
const stop = reapOrphans();
const child = spawn('sh', ['-c', 'sleep 0.3 & echo $!; exit 7']);
let orphan = '';
child.stdout.on('data', (data) => { orphan += data; });
child.on('close', (code) => {
  const end = Date.now() + ${BOUND_MS};
  const timer = setInterval(() => {
    const there = existsSync('/proc/' + orphan.trim());
    if (there && Date.now() < end) return;
    clearInterval(timer);
    stop();
    console.log(JSON.stringify({ code, adopted: orphan.trim() !== '', there }));
  }, 50);
});
`;

it('reaps orphans, and keeps the exit code of each direct child', async () => {
  const { stdout } = await execa(process.execPath, ['--input-type=module', '-e', program], {
    cwd: import.meta.dirname,
    timeout: 2 * BOUND_MS,
    stdin: 'ignore',
  });
  expect(JSON.parse(stdout)).toEqual({ code: 7, adopted: true, there: false });
});
