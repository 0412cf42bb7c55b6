import { createHash } from 'node:crypto';
import { PassThrough, Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { connect } from './connection.ts';
import { lacksSshd, realSshd } from './testing/real-sshd.ts';

const unfit = await lacksSshd();
const TIMEOUT = { timeoutMs: 60_000 };
const BYTES = 20 * 1024 * 1024;

it.skipIf(unfit)('streams an output that is larger than an answer may be, byte by byte', async () => {
  await using sshd = await realSshd({ home: { '.bashrc': 'echo noise of the shell\n' } });
  const connection = await connect(sshd.target);
  const hash = createHash('sha256');
  let text = Buffer.alloc(0);
  let bytes = 0;
  const output = new Writable({
    // A slow reader: the connection must not collect what it has not read.
    highWaterMark: 1024,
    write(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      text = Buffer.concat([text, chunk.subarray(0, 100)]).subarray(0, 1000);
      hash.update(chunk);
      setImmediate(done);
    },
  });
  const { code, stdout, stderr } = await connection.run(
    `head -c ${BYTES} /dev/zero | tr '\\0' 'x'; echo; echo done >&2; exit 3`,
    { ...TIMEOUT, output },
  );
  connection.close();
  expect(code).toBe(3);
  expect(stderr.trim()).toBe('done');
  expect(bytes).toBeGreaterThan(BYTES);
  // The result has the ends only.
  expect(stdout.length).toBeLessThan(64 * 1024);
  expect(stdout.endsWith('x\n')).toBe(true);
});

it.skipIf(unfit)('ends the command if its reader gives up', async () => {
  await using sshd = await realSshd();
  const connection = await connect(sshd.target);
  const output = new PassThrough();
  const running = connection.run('while :; do echo line; done', { ...TIMEOUT, output });
  output.once('data', () => output.destroy());
  await expect(running).rejects.toThrow();
  expect((await connection.run('echo still there', TIMEOUT)).stdout).toBe('still there\n');
  connection.close();
});
