import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTransport, type Transport } from '#runtime/wire/transport.ts';
import { expiredWatch, html, json, type Rules, refusal } from './faults.ts';
import { type FaultProxy, startFaultProxy } from './start.ts';

/** Requests that reached the server behind the proxy. */
const arrived: string[] = [];
let server: Server;
let proxy: FaultProxy;
let transport: Transport;

beforeAll(async () => {
  server = createServer((request, response) => {
    arrived.push(`${request.method} ${request.url}`);
    if (request.url?.startsWith('/flow')) {
      response.writeHead(200).write('one\n');
      setImmediate(() => response.end('two\n'));
    } else response.end('fine');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  proxy = await startFaultProxy({ url: `http://127.0.0.1:${port}` });
  transport = createTransport(
    { url: proxy.url, tls: () => ({ ca: proxy.ca }), headers: () => ({}) },
    { pingIntervalMs: 50, silenceMs: 400 },
  );
});
afterAll(async () => {
  await transport.close();
  await proxy.stop();
  server.close();
});
beforeEach(() => {
  arrived.length = 0;
  proxy.setRules(() => undefined);
});

const send = (path: string, method = 'GET') =>
  transport.send({ method, path, headers: {}, signal: AbortSignal.timeout(1000) });
const read = async (path: string) => {
  const body = await transport.open({ method: 'GET', path, headers: {}, signal: AbortSignal.timeout(2000) });
  let text = '';
  for await (const part of body) text += part;
  return text;
};
const always = (fault: ReturnType<Rules>) => proxy.setRules(() => fault);

describe('the fault proxy', () => {
  it('passes calls over HTTP/1.1 and streams over HTTP/2, and counts them', async () => {
    expect(await send('/plain?x=1')).toMatchObject({ status: 200, text: 'fine' });
    expect(await read('/flow')).toBe('one\ntwo\n');
    expect(arrived).toEqual(['GET /plain?x=1', 'GET /flow']);
    await send('/plain');
    expect(proxy.requests.map(({ path, nth }) => `${path} ${nth}`)).toEqual([
      '/plain 0',
      '/flow 0',
      '/plain 1',
    ]);
  });

  it('reports which requests list objects, including a watch with initial events', async () => {
    const before = proxy.requests.length;
    for (const path of ['/api/v1/pods', '/apis/a/v1/namespaces/n/bs', '/apis/a/v1/namespaces/n/bs/c'])
      await send(path);
    await send('/api/v1/pods?watch=true');
    await send('/api/v1/pods?watch=true&sendInitialEvents=true');
    const lists = proxy.requests.slice(before).map((request) => request.lists);
    expect(lists).toEqual([true, true, false, false, true]);
  });

  it('resets a connection, answers for the server, or delays a request', async () => {
    always({ kind: 'reset' });
    await expect(send('/a')).rejects.toMatchObject({ reason: 'Connection' });
    always(refusal(429, { retryAfterSeconds: 2 }));
    expect(await send('/b')).toMatchObject({ status: 429, retryAfter: '2' });
    always(html());
    expect((await send('/c')).text).toContain('<html>');
    always(json('{"older":"list"}'));
    expect(await send('/c')).toMatchObject({ status: 200, text: '{"older":"list"}' });
    always(expiredWatch());
    expect(await read('/c')).toContain('"code":410');
    expect(arrived).toEqual([]);
    always({ kind: 'delay', ms: 30 });
    const began = performance.now();
    await send('/d');
    expect(performance.now() - began).toBeGreaterThan(25);
  });

  it('forwards a write and drops the answer', async () => {
    always({ kind: 'lose-answer' });
    await expect(send('/x', 'POST')).rejects.toMatchObject({ reason: 'Connection' });
    always({ kind: 'lose-answer', instead: refusal(500) });
    expect(await send('/y', 'POST')).toMatchObject({ status: 500 });
    expect(arrived).toEqual(['POST /x', 'POST /y']);
  });

  it('truncates a stream, or holds it back', async () => {
    always({ kind: 'truncate', afterBytes: 2 });
    await expect(read('/flow')).rejects.toThrow();
    await expect(send('/flow')).rejects.toMatchObject({ reason: 'Connection' });
    const held = Promise.withResolvers<void>();
    always({ kind: 'hold', until: held.promise });
    const text = read('/flow');
    await proxy.seen(({ path, nth }) => path === '/flow' && nth > 2);
    held.resolve();
    expect(await text).toBe('one\ntwo\n');
  });

  it('freezes the connection of one request, and no other', async () => {
    proxy.setRules(({ path }) => (path === '/frozen' ? { kind: 'freeze' } : undefined));
    await expect(send('/frozen')).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(await send('/plain')).toMatchObject({ text: 'fine' });
    await expect(read('/frozen')).rejects.toThrow(/nothing received/);
  });

  it('closes connections, sends garbage, presents an expired certificate', async () => {
    proxy.reset();
    proxy.setConnectionFault(() => 'close');
    await expect(send('/a')).rejects.toMatchObject({ reason: 'Connection' });
    proxy.setConnectionFault(() => 'garbage');
    await expect(send('/a')).rejects.toMatchObject({ reason: 'Connection' });
    proxy.setConnectionFault(() => undefined);
    proxy.present('expired');
    await expect(send('/a')).rejects.toThrow(/expired/);
    proxy.present('valid');
    expect(await send('/a')).toMatchObject({ text: 'fine' });
  });
});
