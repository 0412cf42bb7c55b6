import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHaproxy } from '#addons/ingress/proxy/haproxy.ts';
import { CONNECTIONS_PER_THREAD, DEFAULT_SETTINGS } from '#addons/ingress/proxy/settings.ts';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { createAuthority, createServerCertificate } from '#certificates/certificates.ts';
import { freePorts } from '#lab/apiserver/ports.ts';
import { haproxyProgram } from '#lab/haproxy/program.ts';

/** HAProxy with one thread and generated routes: `node ingress-plane.ts PORT HOSTS ENDPOINT`. Requests go to host 0. */
const [port = '0', hosts = '1', endpoint = ''] = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), 'bench-haproxy-'));
const [httpsPort = 0] = await freePorts(1);

const haproxy = createHaproxy({
  ...{ binary: await haproxyProgram(), folder, clock: systemClock, log: createLogger('error') },
  settings: {
    ...DEFAULT_SETTINGS,
    ...{ host: '127.0.0.1', httpPort: Number(port), httpsPort, threads: 1 },
    connections: CONNECTIONS_PER_THREAD,
  },
  own: await createServerCertificate(await createAuthority(), ['own.invalid'], []),
});
const names = Array.from({ length: Number(hosts) }, (_, at) => `h${at}.example`);
await haproxy.apply({
  routes: {
    hosts: new Map(names.map((name) => [name, { paths: [{ path: '/', match: 'prefix', backend: name }] }])),
    backends: new Map(names.map((name) => [name, { protocol: 'http1', endpoints: [endpoint] }])),
  },
  certificates: { hosts: new Map(), pairs: new Map() },
});
process.stdout.write('listening\n');
process.on('SIGTERM', async () => {
  await haproxy.close(AbortSignal.abort());
  await rm(folder, { recursive: true });
  process.exit(0);
});
