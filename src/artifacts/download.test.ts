import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { download } from './download.ts';

const CONTENT = Buffer.from('0123456789'.repeat(20_000));
const SUM = createHash('sha256').update(CONTENT).digest('hex');
/** Number of bytes after which the mirror breaks a connection. */
const BREAKS_AT = 70_000;

let directory: string;
let server: Server;
let url: string;
let ranges: (string | undefined)[];
let breaks: boolean;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'download-'));
  ranges = [];
  breaks = true;
  server = createServer(({ headers: { range } }, response) => {
    ranges.push(range);
    const from = Number(/^bytes=(\d+)-/.exec(range ?? '')?.[1] ?? 0);
    const rest = CONTENT.subarray(from);
    response.writeHead(range === undefined ? 200 : 206, {
      etag: '"of-this-content"',
      'content-length': rest.length,
      'accept-ranges': 'bytes',
      ...(range === undefined
        ? {}
        : { 'content-range': `bytes ${from}-${CONTENT.length - 1}/${CONTENT.length}` }),
    });
    if (breaks && rest.length > BREAKS_AT)
      response.write(rest.subarray(0, BREAKS_AT), () => response.destroy());
    else response.end(rest);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/file`;
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await rm(directory, { recursive: true, force: true });
});

it('continues where a connection broke', async () => {
  const path = join(directory, 'file');
  let bytes = 0;
  await download(url, path, SUM, (count) => {
    bytes += count;
  });
  expect(await readFile(path)).toEqual(CONTENT);
  expect(bytes).toBe(CONTENT.length);
  expect(ranges.map((range) => /^bytes=(\d+)-/.exec(range ?? '')?.[1])).toEqual([
    undefined,
    expect.any(String),
    expect.any(String),
  ]);
});

it('leaves nothing of a file that has another sum', async () => {
  breaks = false;
  const path = join(directory, 'folder/file');
  await expect(download(url, path, '0'.repeat(64))).rejects.toThrow(`${url} has the sum ${SUM}, wanted 000`);
  expect(await readdir(join(directory, 'folder'))).toEqual([]);
});
