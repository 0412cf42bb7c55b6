import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import Fastify from 'fastify';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { createLogger, type Logger } from '#base/log.ts';
import { createServerCertificates } from '#lab/apiserver/certificates.ts';
import { freePorts } from '#lab/apiserver/ports.ts';
import { serverConfig, webhookConfig } from '../config.ts';
import { configFrom } from '../options.ts';
import { httpsService } from './https-service.ts';
import { serverProgram } from './server.ts';
import { webhookProgram } from './webhook.ts';

const log = createLogger('silent');
let dir = '';
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'server-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

async function writePair(): Promise<string> {
  const { ca, cert, key } = await createServerCertificates();
  for (const [name, text] of [
    ['tls.crt', cert],
    ['tls.key', key],
  ] as const) {
    await writeFile(join(dir, `${name}.new`), text);
    await rename(join(dir, `${name}.new`), join(dir, name));
  }
  return ca;
}

it('serves REST, its documentation and probes over TLS until it is stopped', async () => {
  const ca = await writePair();
  const releases = { 'v1.34.4': {} };
  await writeFile(join(dir, 'artifacts.json'), JSON.stringify({ baseUrl: 'http://x', releases }));
  const [port = 0, probePort = 0] = await freePorts(2);
  const stop = new AbortController();
  const config = configFrom(serverConfig, {
    kubeconfig: inject('kubeconfigPath'),
    siteDir: dir,
    certDir: dir,
    port,
    probePort,
  });
  const manager = await serverProgram(config, log);
  const ended = manager.run(stop.signal);
  const dispatcher = new Agent({ connect: { ca } });
  const get = async (url: string) => {
    const { statusCode, body, headers } = await request(url, { dispatcher });
    return { status: statusCode, text: await body.text(), type: headers['content-type'] };
  };
  await expect
    .poll(() => get(`http://127.0.0.1:${probePort}/readyz`).catch(() => undefined))
    .toMatchObject({
      status: 200,
    });
  expect(await get(`https://127.0.0.1:${port}/healthz`)).toMatchObject({ status: 200, text: 'ok' });
  expect(await get(`https://127.0.0.1:${port}/api/v1/clusters`)).toMatchObject({ status: 401 });
  for (const path of ['/docs', '/docs/static/swagger-ui.css', '/docs/static/swagger-ui-bundle.js']) {
    const page = await get(`https://127.0.0.1:${port}${path}`);
    expect([path, page.status, page.text.length > 300]).toEqual([path, 200, true]);
    expect(page.text).not.toMatch(/https?:\/\/(cdn|unpkg)/);
  }
  const document = await get(`https://127.0.0.1:${port}/docs/json`);
  const { paths, components } = JSON.parse(document.text) as {
    paths: Record<string, unknown>;
    components: { schemas: Record<string, { properties?: Record<string, unknown> }> };
  };
  const cluster = '/api/v1/region/{region}/cluster/{name}';
  expect(Object.keys(paths).sort()).toEqual(
    [
      '/api/v1/clusters',
      '/api/v1/clusters/events',
      '/api/v1/hosts',
      cluster,
      ...[
        'approve',
        'cancel',
        'etcd/move',
        'pause',
        'resume',
        'hosts',
        'operations',
        'operations/{id}',
        'operations/{id}/events',
        'operations/{id}/logs',
        'kubeconfig',
        'logs',
        'reconfigure',
        'relabel',
        'renew',
        'rotate',
        'update',
        'rollback',
        'snapshot',
        'snapshots',
        'restore',
        'repair',
        'replace',
        'scaledown',
        'scaleup',
      ].map((word) => `${cluster}/${word}`),
    ].sort(),
  );
  expect(Object.keys(components.schemas['CreateCluster']?.properties ?? {})).toContain('masterList');
  stop.abort(new Error('stop'));
  await ended;
  await dispatcher.close();
  await expect(get(`https://127.0.0.1:${port}/healthz`)).rejects.toThrow();
});

it('serves admission in a separate program', async () => {
  const ca = await writePair();
  await writeFile(join(dir, 'artifacts.json'), JSON.stringify({ baseUrl: 'http://x', releases: {} }));
  const [port = 0, probePort = 0] = await freePorts(2);
  const stop = new AbortController();
  const kubeconfig = inject('kubeconfigPath');
  const config = configFrom(webhookConfig, { kubeconfig, siteDir: dir, certDir: dir, port, probePort });
  const ended = (await webhookProgram(config, log)).run(stop.signal);
  const dispatcher = new Agent({ connect: { ca } });
  const statusOf = async (path: string) =>
    (await request(`https://127.0.0.1:${port}${path}`, { dispatcher })).statusCode;
  await expect.poll(() => statusOf('/healthz').catch(() => undefined)).toBe(200);
  // This port serves no REST route.
  expect(await statusOf('/api/v1/clusters')).toBe(404);
  stop.abort(new Error('stop'));
  await ended;
  await dispatcher.close();
});

it('loads a new certificate while it serves, but never a mismatched pair', async () => {
  await writePair();
  const [port = 0] = await freePorts(1);
  const app = Fastify({
    https: { cert: await text('tls.crt'), key: await text('tls.key') },
  }).withTypeProvider();
  const refused = Promise.withResolvers<void>();
  const heard: Logger = Object.assign(createLogger('silent'), { warn: () => refused.resolve() });
  const service = httpsService({
    name: 'test',
    app,
    port,
    host: '127.0.0.1',
    certDir: dir,
    log: heard,
    checkMs: 20,
  });
  await service.start();
  const serial = () =>
    new Promise<string>((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
        resolve(socket.getPeerCertificate().serialNumber);
        socket.destroy();
      });
      socket.once('error', reject);
    });
  const first = await serial();
  const { cert } = await createServerCertificates();
  await writeFile(join(dir, 'tls.crt'), cert);
  await refused.promise;
  expect(await serial()).toBe(first);
  await writePair();
  await expect.poll(serial).not.toBe(first);
  await service.stop();
});

it('stops after its last answer, even on a keep-alive connection', async () => {
  const ca = await writePair();
  const [port = 0] = await freePorts(1);
  const app = Fastify({ https: { cert: await text('tls.crt'), key: await text('tls.key') } });
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<string>();
  app.get('/', () => {
    asked.resolve();
    return answer.promise;
  });
  const service = httpsService({ name: 'test', app, port, host: '127.0.0.1', certDir: dir, log });
  await service.start();
  const dispatcher = new Agent({ connect: { ca }, keepAliveTimeout: 60_000 });
  const got = request(`https://127.0.0.1:${port}/`, { dispatcher }).then(({ body }) => body.text());
  await asked.promise;
  const stopped = service.stop();
  await expect.poll(() => app.server.listening).toBe(false);
  answer.resolve('done');
  expect(await got).toBe('done');
  await stopped;
  await dispatcher.close();
});

async function text(name: string): Promise<string> {
  return readFile(join(dir, name), 'utf8');
}
