import { readFileSync } from 'node:fs';
import { connect } from 'node:tls';
import { Agent, request } from 'undici';
import { sleep } from '#base/clock.ts';

/**
 * Sends requests without a valid token at a steady rate: `node flood-client.ts <url> <ca> <per second> <seconds>`. It is a
 * separate process so that it does not delay the measurement. Prints the number of responses by status, as JSON.
 */
const [url = '', caPath = '', perSecond = '1000', seconds = '60'] = process.argv.slice(2);
const ca = readFileSync(caPath, 'utf8');
const dispatcher = new Agent({ connect: { ca, timeout: 10_000 }, connections: 200 });
const TICK_MS = 10;
const SLOW_MS = 5_000;
const MOST_AT_ONCE = 4_000;
const path = '/api/v1/region/north/cluster/demo';
const large = Buffer.alloc(1024 * 1024, ' ');
const answers: Record<string, number> = {};
const note = (answer: string | number): void => {
  answers[answer] = (answers[answer] ?? 0) + 1;
};

const inventedToken = async (number: number): Promise<number> => {
  const headers = { authorization: `Bearer junk-${number}` };
  const { statusCode, body } = await request(`${url}${path}`, { dispatcher, headers });
  await body.dump();
  return statusCode;
};
const largeBody = async (): Promise<number> => {
  const headers = { 'content-type': 'application/json' };
  const { statusCode, body } = await request(`${url}${path}`, {
    dispatcher,
    method: 'POST',
    headers,
    body: large,
  });
  await body.dump();
  return statusCode;
};
/** Sends headers and one byte, then nothing for some seconds. */
const slowBody = (): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), ca, servername: '' }, () => {
      socket.write(
        `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n{`,
      );
    });
    let reported = '';
    socket.on('data', (chunk) => {
      reported ||= /^HTTP\/1\.1 (\d+)/.exec(chunk.toString('latin1'))?.[1] ?? 'no HTTP';
    });
    socket.setTimeout(SLOW_MS, () => socket.destroy());
    socket.on('error', reject);
    socket.on('close', () => resolve(reported === '' ? 'none' : reported));
  });

let sent = 0;
let atOnce = 0;
let held = 0;
async function one(): Promise<void> {
  sent += 1;
  if (atOnce >= MOST_AT_ONCE) {
    held += 1;
    return;
  }
  atOnce += 1;
  const kind = sent % 10;
  try {
    note(await (kind < 7 ? inventedToken(sent) : kind < 9 ? largeBody() : slowBody()));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'error';
    note(code);
  } finally {
    atOnce -= 1;
  }
}

const began = performance.now();
const endMs = Number(seconds) * 1000;
for (let now = 0; now < endMs; now = performance.now() - began) {
  const due = Math.floor((now * Number(perSecond)) / 1000);
  while (sent < due) void one();
  await sleep(TICK_MS);
}
process.stdout.write(`${JSON.stringify({ sent, held, answers })}\n`);
process.exit(0);
