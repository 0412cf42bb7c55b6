import { systemClock } from '#base/clock.ts';
import { createAuthority, createServerCertificate } from '#certificates/certificates.ts';
import { createDataPlane } from '#gateway/ingress/data-plane.ts';
import { DEFAULT_LIMITS } from '#gateway/ingress/limits.ts';

/** One serving process of the proxy with made-up routes: `node ingress-plane.ts PORT HOSTS ENDPOINT`. Host 0 is asked for. */
const [port = '0', hosts = '1', endpoint = ''] = process.argv.slice(2);

const plane = createDataPlane({
  ...{ clock: systemClock, limits: { ...DEFAULT_LIMITS, connections: 20_000 }, trust: () => false },
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
await plane.listen();
process.stdout.write('listening\n');
