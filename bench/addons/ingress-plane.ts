import { writeFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDataPlane } from '#addons/ingress/proxy/data-plane.ts';
import { DEFAULT_LIMITS } from '#addons/ingress/proxy/limits.ts';
import { systemClock } from '#base/clock.ts';
import { createAuthority, createServerCertificate } from '#certificates/certificates.ts';

/**
 * One serving process of the proxy with made-up routes: `node ingress-plane.ts PORT HOSTS ENDPOINT PROFILE`. Host 0 is asked
 * for. Upon SIGUSR2 it writes a profile of its next seconds to the file PROFILE.
 */
const [port = '0', hosts = '1', endpoint = '', profilePath = ''] = process.argv.slice(2);
const PROFILED_MS = 3_000;

const plane = createDataPlane({
  ...{ clock: systemClock, limits: DEFAULT_LIMITS, trust: () => false },
  ...{ host: '127.0.0.1', httpPort: Number(port), httpsPort: 0 },
  own: await createServerCertificate(await createAuthority(), ['own.invalid'], []),
});
const names = Array.from({ length: Number(hosts) }, (_, at) => `h${at}.example`);
plane.apply({
  routes: {
    hosts: names.map((name) => [
      name,
      JSON.stringify({ paths: [{ path: '/', match: 'prefix', backend: name }] }),
    ]),
    backends: names.map((name) => [name, JSON.stringify({ protocol: 'http1', endpoints: [endpoint] })]),
  },
});

process.on('SIGUSR2', async () => {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.start');
  await sleep(PROFILED_MS);
  const { profile } = await session.post('Profiler.stop');
  session.disconnect();
  await writeFile(profilePath, `${JSON.stringify(profile)}\n`);
});
await plane.listen();
process.stdout.write('listening\n');
