import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import { createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { type Authority, createAuthority } from '#lab/apiserver/certificates.ts';
import { freePorts } from '#lab/apiserver/ports.ts';
import { probe } from './probe.ts';

/** Answers of servers that are not proper clusters; test/conformance/health.test.ts has a real one. */
type Respond = Parameters<typeof createServer>[1];
let authority: Authority;
let stranger: Authority;
let port = 0;
const open: (Server | TcpServer)[] = [];
const sockets = new Set<Socket>();

beforeAll(async () => {
  [authority, stranger] = [await createAuthority(), await createAuthority()];
  [port = 0] = await freePorts(1);
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  for (const server of open.splice(0)) await new Promise((resolve) => server.close(resolve));
});

async function listen<S extends Server | TcpServer>(server: S, ip = '127.0.0.1'): Promise<S> {
  open.push(server);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(port, ip);
  await once(server, 'listening');
  return server;
}

const serve = async (
  respond: NonNullable<Respond>,
  by = authority,
  validity?: { notBefore: Date; notAfter: Date },
) => listen(createServer(await by.issue(validity), respond));

const probed = (ips: string[], more: Partial<Parameters<typeof probe>[0]> = {}) =>
  probe({
    access: { ca: authority.pem, token: 'secret' },
    ips,
    port,
    deadlineMs: 1_000,
    clock: systemClock,
    signal: new AbortController().signal,
    withSize: false,
    ...more,
  });

const table = (...nodes: [string, string][]) =>
  JSON.stringify({
    columnDefinitions: [{ name: 'Name' }, { name: 'Status' }],
    rows: nodes.map((cells) => ({ cells })),
  });
const lease = (name: string, renewTime: string, annotations?: Record<string, string>) => ({
  metadata: { name, annotations },
  spec: { renewTime },
});
const pod = (nodeName: string, status: string, name = `etcd-${nodeName}`) => ({
  metadata: { name },
  spec: { nodeName },
  status: { conditions: [{ type: 'Ready', status }] },
});

/** Returns an API server that gives these answers about its cluster. */
const cluster =
  ({
    nodes = table(),
    leases = [],
    pods = [],
    metrics = '',
  }: {
    nodes?: string;
    leases?: unknown[];
    pods?: unknown[];
    metrics?: string;
  } = {}): NonNullable<Respond> =>
  ({ url = '' }, response) => {
    response.setHeader('date', 'Thu, 01 Jan 2026 00:10:00 GMT');
    if (url === '/readyz') response.end('ok');
    else if (url === '/metrics') response.end(metrics);
    else if (url.startsWith('/api/v1/nodes?')) response.end(nodes);
    else response.end(JSON.stringify({ items: url.includes('/leases') ? leases : pods }));
  };

describe('a probe', () => {
  it('counts a node as not Ready if its lease is old', async () => {
    await serve(
      cluster({
        nodes: table(
          ['a', 'Ready'],
          ['b', 'NotReady'],
          ['c', 'Ready,SchedulingDisabled'],
          ['d', 'Ready'],
          ['../x', 'Ready'],
        ),
        leases: [lease('a', '2026-01-01T00:09:05.000000Z'), lease('d', '2026-01-01T00:08:55.000000Z')],
        pods: [pod('a', 'True'), pod('b', 'False'), pod('c', 'True', 'etcd-backup')],
      }),
    );
    const seen = await probed(['127.0.0.1']);
    expect(seen.nodes).toEqual([
      { name: 'a', ready: true },
      { name: 'b', ready: false },
      { name: 'c', ready: true },
      { name: 'd', ready: false, silent: true },
    ]);
    expect(seen.etcdPods).toEqual([
      { node: 'a', ready: true },
      { node: 'b', ready: false },
    ]);
    expect(seen.servers).toEqual([{ ip: '127.0.0.1', state: 'ready', certificateEnds: expect.any(Date) }]);
  });

  it('waits longer for a kubelet that renews its lease less often', async () => {
    // The server's date is 00:10:00; these kubelets renew every 75 s, and last did so 100 s and 451 s ago.
    const seldom = (name: string, renewTime: string) => ({
      metadata: { name },
      spec: { renewTime, leaseDurationSeconds: 300 },
    });
    const leases = [seldom('a', '2026-01-01T00:08:20Z'), seldom('b', '2026-01-01T00:02:29Z')];
    await serve(cluster({ nodes: table(['a', 'Ready'], ['b', 'Ready']), leases }));
    expect((await probed(['127.0.0.1'])).nodes).toEqual([
      { name: 'a', ready: true },
      { name: 'b', ready: false, silent: true },
    ]);
  });

  it('reads the reports of hosts in their leases, and ignores other annotations', async () => {
    const at = '2026-01-01T00:09:00Z';
    const reported = {
      'ecs.yun.com/drift': JSON.stringify({ at, count: 0, things: [] }),
      'ecs.yun.com/etcd': JSON.stringify({ at, members: [['10.0.0.5', 'healthy']] }),
      'ecs.yun.com/drift-of-etcd': JSON.stringify({
        at,
        hosts: [
          [
            Buffer.from('/matryoshka/drift/n5').toString('base64'),
            Buffer.from(JSON.stringify({ at, count: 0, things: [] })).toString('base64'),
          ],
        ],
      }),
    };
    const atMs = Date.parse(at);
    const renewed = '2026-01-01T00:09:55.000000Z';
    await serve(
      cluster({
        nodes: table(['a', 'Ready'], ['b', 'Ready']),
        leases: [lease('a', renewed, reported), lease('b', renewed, { 'example.com/mine': 'x' })],
      }),
    );
    expect((await probed(['127.0.0.1'])).nodes).toEqual([
      {
        name: 'a',
        ready: true,
        drift: { atMs, count: 0, things: [] },
        driftOfEtcd: new Map([['n5', { atMs, count: 0, things: [] }]]),
        etcd: [{ ip: '10.0.0.5', healthy: true, says: 'healthy' }],
      },
      { name: 'b', ready: true },
    ]);
  });

  it('reads only one row of each node', async () => {
    const rows = Array.from({ length: 20_000 }, (): [string, string] => ['a', 'Ready']);
    await serve(cluster({ nodes: table(['a', 'NotReady'], ...rows) }));
    expect((await probed(['127.0.0.1'])).nodes).toEqual([{ name: 'a', ready: false }]);
  });

  it('uses an API server that is ready, although others are down or hang', async () => {
    await serve(cluster({ nodes: table(['a', 'Ready']) }));
    await listen(
      createTcpServer(() => {}),
      '127.0.0.2',
    );
    const began = performance.now();
    const seen = await probed(['127.0.0.2', '127.0.0.3', '127.0.0.1']);
    expect(performance.now() - began).toBeLessThan(2_000);
    expect(seen.servers.map(({ state }) => state)).toEqual(['silent', 'silent', 'ready']);
    expect(seen.nodes).toEqual([{ name: 'a', ready: true }]);
  });

  it('closes every connection, and leaves no timer', async () => {
    const server = await serve(cluster());
    let timers = 0;
    const after: typeof systemClock.after = (ms, run) => {
      timers += 1;
      const cancel = systemClock.after(ms, run);
      return () => {
        timers -= 1;
        cancel();
      };
    };
    await probed(['127.0.0.1'], { clock: { ...systemClock, after } });
    expect(timers).toBe(0);
    const connections = () =>
      new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)));
    await expect.poll(connections).toBe(0);
  });

  it('names the checks that fail', async () => {
    await serve((_request, response) => {
      response.statusCode = 500;
      response.end('[+]ping ok\n[-]etcd failed: reason withheld\n[-]a<b> failed: x\nreadyz check failed');
    });
    const { servers } = await probed(['127.0.0.1']);
    expect(servers).toMatchObject([{ state: 'not-ready', failed: ['etcd'] }]);
  });

  describe('the write probe', () => {
    const old = [lease('a', '2026-01-01T00:00:00Z')];
    const answering = async (nodes: string, status: number, message = '') => {
      const tried: string[] = [];
      const others = cluster({ nodes, leases: old });
      await serve((request, response) => {
        const { method = '', url = '' } = request;
        if (method === 'GET') return void others(request, response);
        tried.push(`${method} ${url}`);
        response.statusCode = method === 'POST' ? status : 200;
        response.end(JSON.stringify({ kind: 'Status', message }));
      });
      return { tried, seen: await probed(['127.0.0.1']) };
    };
    const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';

    it.each([
      ['NoSpace', 'etcdserver: mvcc: database space exceeded'],
      ['Corrupt', 'etcdserver: corrupt cluster'],
      [undefined, 'etcdserver: request timed out'],
    ])('reports %s according to the error of the write', async (says, message) => {
      const { seen, tried } = await answering(table(['a', 'Ready']), 500, message);
      expect(seen.writesRefused).toBe(says);
      expect(tried).toEqual([`POST ${LEASES}`]);
    });

    it.each([201, 409])('deletes its Lease after status %i', async (status) => {
      const { seen, tried } = await answering(table(['a', 'Ready']), status);
      expect(seen.writesRefused).toBeUndefined();
      expect(tried).toEqual([`POST ${LEASES}`, `DELETE ${LEASES}/matryoshka-write-probe`]);
    });

    it('writes nothing while one kubelet is not silent', async () => {
      const { tried } = await answering(table(['a', 'Ready'], ['b', 'Ready']), 201);
      expect(tried).toEqual([]);
    });
  });

  it('reads the database size from long metrics', async () => {
    const line = 'apiserver_storage_size_bytes{storage_cluster_id="etcd-0"} 2.5e+06';
    await serve(cluster({ metrics: `${'# much\n'.repeat(200_000)}${line}\n` }));
    expect(await probed(['127.0.0.1'], { withSize: true })).toMatchObject({ databaseBytes: 2_500_000 });
  });
});

describe('a hostile cluster', () => {
  it('gets no credentials if its certificate has another authority or address', async () => {
    const heard: string[] = [];
    const note: NonNullable<Respond> = ({ headers }, response) => {
      heard.push(headers.authorization ?? '');
      response.end('ok');
    };
    await serve(note, stranger);
    expect((await probed(['127.0.0.1'])).servers).toMatchObject([{ state: 'untrusted' }]);
    const named = createServer(await authority.issue(), note);
    await listen(named, '127.0.0.2');
    expect((await probed(['127.0.0.2'])).servers).toMatchObject([{ state: 'untrusted' }]);
    expect(heard).toEqual([]);
  });

  it('is reported as expired if its certificate has expired', async () => {
    const ago = (days: number) => new Date(Date.now() - days * 86_400_000);
    await serve(cluster(), authority, { notBefore: ago(2), notAfter: ago(1) });
    expect((await probed(['127.0.0.1'])).servers).toMatchObject([{ state: 'expired' }]);
  });

  it('cannot redirect the probe', async () => {
    let asked = 0;
    await listen(
      createTcpServer(() => (asked += 1)),
      '127.0.0.2',
    );
    await serve((_request, response) => {
      response.writeHead(302, { location: `https://127.0.0.2:${port}/` });
      response.end();
    });
    expect((await probed(['127.0.0.1'])).servers).toMatchObject([{ state: 'not-ready' }]);
    expect(asked).toBe(0);
  });

  it.each<[string, NonNullable<Respond>]>([
    [
      'never ends an answer',
      ({ url }, response) => {
        if (url === '/readyz') return void response.end('ok');
        response.write('[');
      },
    ],
    [
      'answers without end',
      ({ url }, response) => {
        if (url === '/readyz') return void response.end('ok');
        const more = () => {
          while (!response.destroyed && response.write('a'.repeat(65_536)));
        };
        response.on('drain', more);
        more();
      },
    ],
    ['answers garbage', ({ url }, response) => void response.end(url === '/readyz' ? 'ok' : '{"items": 7}')],
  ])('does not hold up the probe when it %s', async (_, respond) => {
    await serve(respond);
    const before = process.memoryUsage().rss;
    const began = performance.now();
    const seen = await probed(['127.0.0.1']);
    expect(performance.now() - began).toBeLessThan(2_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
    expect(seen).toMatchObject({ servers: [{ state: 'ready' }] });
    expect(seen.nodes).toBeUndefined();
  });
});
