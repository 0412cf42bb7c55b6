import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, request, type ServerResponse } from 'node:http';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { SERVICES, type Service } from '#api/core.ts';
import {
  ENDPOINT_SLICES,
  INGRESS_CLASSES,
  INGRESSES,
  type IngressClass,
  SERVICE_NAME_LABEL,
} from '#api/networking.ts';
import { freePorts } from '#lab/apiserver/ports.ts';
import { haproxyProgram } from '#lab/haproxy/program.ts';
import { useNamespace } from '#runtime/testing/test-namespace.ts';
import { CONTROLLER_NAME } from '../routing/classes.ts';

/** Runs the proxy's program as a process. */
const test = useNamespace('ingress-proxy');
const [host, className] = [`${test.namespace}.example`, `${test.namespace}-class`];
let child: ChildProcess;
let [http, https, probes] = [0, 0, 0];
let stdout = '';
let directory = '';
const LEFT = 'matryoshka-ingress/certificates/left.pem';
const waiting: ServerResponse[] = [];
const endpoint = createServer((asked, answer) => {
  if (asked.url === '/slow') waiting.push(answer);
  else answer.end('hello');
});

beforeAll(async () => {
  const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const { address = '' } = own.find(({ family, internal }) => family === 'IPv4' && !internal) ?? {};
  endpoint.listen(0, address);
  await once(endpoint, 'listening');
  const bound = endpoint.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  const klass: IngressClass = { metadata: { name: className }, spec: { controller: CONTROLLER_NAME } };
  await test.client.create<IngressClass>(INGRESS_CLASSES, klass);
  const service: Service = { metadata: test.key('web'), spec: { ports: [{ port: 80 }] } };
  await test.client.create<Service>(SERVICES, service);
  await test.client.create(ENDPOINT_SLICES, {
    metadata: { ...test.key('web-1'), labels: { [SERVICE_NAME_LABEL]: 'web' } },
    ...{ addressType: 'IPv4', ports: [{ name: '', port }], endpoints: [{ addresses: [address] }] },
  });
  const paths = [
    { path: '/', pathType: 'Prefix', backend: { service: { name: 'web', port: { number: 80 } } } },
  ];
  await test.client.create(INGRESSES, {
    metadata: test.key('web'),
    ...{ spec: { ingressClassName: className, rules: [{ host, http: { paths } }] } },
  });
  [http = 0, https = 0, probes = 0] = await freePorts(3);
  directory = await mkdtemp(join(tmpdir(), 'ingress-program-'));
  await mkdir(join(directory, 'matryoshka-ingress/certificates'), { recursive: true });
  await writeFile(join(directory, LEFT), 'of a process that was killed');
  child = spawn(
    process.execPath,
    [
      join(import.meta.dirname, '../../../main.ts'),
      'ingress-proxy',
      ...[
        '--workers=2',
        '--log-level=silent',
        `--haproxy=${await haproxyProgram()}`,
        '--shed-seconds=5',
        '--drain-seconds=20',
      ],
      `--directory=${directory}`,
      ...[`--http-port=${http}`, `--https-port=${https}`, `--probe-port=${probes}`],
      `--kubeconfig=${inject('kubeconfigPath')}`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  child.stdout?.on('data', (text) => {
    stdout += text;
  });
});
afterAll(async () => {
  child.kill('SIGKILL');
  endpoint.close();
  endpoint.closeAllConnections();
  await rm(directory, { recursive: true, force: true });
  await test.client.delete(INGRESS_CLASSES, { namespace: '', name: className });
});

async function ask(port: number, path = '/', agent: false | undefined = false) {
  const asked = request({ host: '127.0.0.1', port, path, agent, headers: { host } }).end();
  const [answer] = await once(asked, 'response');
  return {
    status: answer.statusCode,
    text: `${await buffer(answer)}`,
    connection: answer.headers.connection,
  };
}
const until = (probe: () => Promise<unknown>) => expect.poll(probe, { timeout: 30_000 });
const ready = () =>
  ask(probes, '/readyz').then(
    ({ status }) => status,
    () => 0,
  );
const childrenOf = (pid = 0): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);

it('serves once it is ready, and reports requests in log and metrics', async () => {
  await until(ready).toBe(200);
  expect(await ask(http, '/page?secret=1')).toMatchObject({ status: 200, text: 'hello' });
  await until(async () => stdout).toMatch(/"path":"\\\/page".*\n/);
  expect(stdout).not.toContain('secret');
  expect(JSON.parse(stdout.split('\n')[0] ?? '')).toMatchObject({ host, status: 200, method: 'GET' });
  await until(async () => (await ask(probes, '/metrics')).text).toMatch(
    /haproxy_backend_http_responses_total\{proxy="[^"]*_web_80",code="2xx"\} 1\n/,
  );
  // Both name the backend alike.
  expect((await ask(probes, '/metrics')).text).toMatch(
    /matryoshka_ingress_backend_info\{ingress_namespace="[^"]+",ingress="[^"]+",proxy="[^"]*_web_80"\} 1\n/,
  );
});

it('keeps its files private, and removes those of an earlier process', async () => {
  const { mode } = await stat(join(directory, 'matryoshka-ingress/certificates/own.pem'));
  expect(mode & 0o077).toBe(0);
  expect(existsSync(join(directory, LEFT))).toBe(false);
});

it.each(['worker', 'master'])(
  'starts another HAProxy with all routes in place of one whose %s ended',
  async (which) => {
    const [master = 0] = childrenOf(child.pid);
    const [worker = 0] = childrenOf(master);
    process.kill(which === 'master' ? master : worker, 'SIGKILL');
    await until(async () => childrenOf(child.pid).some((pid) => pid !== master)).toBe(true);
    await until(() =>
      ask(http).then(
        ({ text }) => text,
        () => '',
      ),
    ).toBe('hello');
  },
);

it('on SIGTERM fails its readiness, sheds connections, finishes requests, and exits', async () => {
  const slow = ask(http, '/slow');
  await until(async () => waiting.length).toBe(1);
  child.kill('SIGTERM');
  await until(ready).toBe(503);
  expect(await ask(http, '/', undefined)).toMatchObject({ text: 'hello', connection: 'close' });
  await until(() =>
    ask(http).then(
      () => 'let in',
      () => 'refused',
    ),
  ).toBe('refused');
  waiting[0]?.end('late');
  expect((await slow).text).toBe('late');
  const [code] = await once(child, 'exit');
  expect(code).toBe(0);
});
