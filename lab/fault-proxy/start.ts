import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { Agent } from 'undici';
import { createAuthority, type ServerCertificate } from '../apiserver/certificates.ts';
import { createCourier } from './courier.ts';
import type { ConnectionFault, Rules, SeenRequest } from './faults.ts';
import { startRelay } from './relay.ts';

/** HTTPS proxy of a real API server, over HTTP/2 and HTTP/1.1, with the network faults that a test sets. */
export interface FaultProxy {
  /** `https://127.0.0.1:port` */
  readonly url: string;
  /** PEM of the CA that signed the proxy's certificate. */
  readonly ca: string;
  /** Every request so far, in order. */
  readonly requests: readonly SeenRequest[];
  count(matches: (request: SeenRequest) => boolean): number;
  /** Resolves with the first past or future request that matches. */
  seen(matches: (request: SeenRequest) => boolean): Promise<SeenRequest>;
  /** Sets the rules of further requests. */
  setRules(rules: Rules): void;
  setConnectionFault(choose: (nth: number) => ConnectionFault | undefined): void;
  /** Sets the certificate of further connections: another one, or one that expired an hour ago. */
  present(certificate: 'valid' | 'expired' | ServerCertificate): void;
  /** Makes all open connections silent from now on; `reset` resets them. */
  freeze(): void;
  reset(): void;
  accepted(): number;
  stop(): Promise<void>;
}

const HOUR_MS = 3_600_000;

/**
 * Starts a fault proxy in front of an API server.
 * @example
 * const proxy = await startFaultProxy({ url: server.url, ca: server.ca });
 * proxy.setRules(({ method, nth }) => (method === 'POST' && nth === 0 ? { kind: 'lose-answer' } : undefined));
 */
export async function startFaultProxy(target: {
  url: string;
  ca?: string | undefined;
  /** Addresses of its certificate. Default: its own. */
  ips?: readonly string[];
}): Promise<FaultProxy> {
  const authority = await createAuthority();
  const valid = await authority.issue(undefined, target.ips);
  const expired = await authority.issue({
    notBefore: new Date(Date.now() - 48 * HOUR_MS),
    notAfter: new Date(Date.now() - HOUR_MS),
  });
  const upstream = new Agent({
    connect: target.ca === undefined ? {} : { ca: target.ca },
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const startedMs = performance.now();
  const requests: SeenRequest[] = [];
  const waiting = new Set<(request: SeenRequest) => void>();
  let rules: Rules = () => undefined;

  const server = createSecureServer({ ...valid, allowHTTP1: true });
  // A client may disconnect during its handshake. The proxy ignores that.
  for (const event of ['tlsClientError', 'sessionError', 'error']) server.on(event, () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP server without a port');
  const relay = await startRelay(address.port);
  const courier = createCourier(target.url, upstream, relay);

  function see(request: Http2ServerRequest): SeenRequest {
    const url = new URL(request.url, target.url);
    const watch = url.searchParams.get('watch') === 'true';
    const same = (other: SeenRequest) =>
      other.method === request.method && other.path === url.pathname && other.watch === watch;
    // .../namespaces/x/configmaps lists, .../namespaces/x/configmaps/name does not.
    const collection = /^\/(api\/v1|apis\/[^/]+\/[^/]+)(\/namespaces\/[^/]+)?\/[^/]+$/.test(url.pathname);
    const all = watch ? url.searchParams.get('sendInitialEvents') === 'true' : collection;
    const seen: SeenRequest = {
      method: request.method,
      path: url.pathname,
      query: url.searchParams,
      nth: requests.filter(same).length,
      atMs: performance.now() - startedMs,
      lists: request.method === 'GET' && all && !url.searchParams.has('continue'),
      watch,
    };
    requests.push(seen);
    for (const one of waiting) one(seen);
    return seen;
  }

  server.on('request', (request: Http2ServerRequest, response: Http2ServerResponse) => {
    const fault = rules(see(request));
    courier.carry(request, response, fault).catch(() => courier.drop(response));
  });

  return {
    url: `https://127.0.0.1:${relay.port}`,
    ca: authority.pem,
    requests,
    count: (matches) => requests.filter(matches).length,
    seen(matches) {
      const past = requests.find(matches);
      if (past) return Promise.resolve(past);
      return new Promise((resolve) => {
        const one = (request: SeenRequest) => {
          if (!matches(request)) return;
          waiting.delete(one);
          resolve(request);
        };
        waiting.add(one);
      });
    },
    setRules(next) {
      rules = next;
    },
    setConnectionFault: relay.setConnectionFault,
    present(certificate) {
      const chosen = certificate === 'valid' ? valid : certificate === 'expired' ? expired : certificate;
      server.setSecureContext(chosen);
    },
    freeze: () => relay.freeze(),
    reset: () => relay.reset(),
    accepted: relay.accepted,
    async stop() {
      await relay.stop();
      await upstream.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
