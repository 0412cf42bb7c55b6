import type { Service } from '#api/core.ts';
import type { EndpointSlice, IngressBackend } from '#api/networking.ts';
import type { IngressSettings } from './settings.ts';

/** Protocol between proxy and backend: HTTP/1.1, or HTTP/2 without TLS, which gRPC servers need. */
export type Protocol = 'http1' | 'h2c';

/** Rules for the requests of a backend. `rule` is set if the path is rewritten. */
export interface BackendRules {
  settings: IngressSettings;
  rule?: { path: string; match: 'exact' | 'prefix' };
  /** SHA-256 of the only accepted Authorization field, in capital hexadecimal digits. */
  basic?: string;
  /** Backend that decides about each request, by id, and the Host and path of the question. */
  auth?: { backend: string; host: string; path: string };
}

/** Destination of requests. `endpoints` are `address:port`, with an IPv6 address in brackets. */
export interface Backend {
  protocol: Protocol;
  endpoints: readonly string[];
  /** Absent: the defaults of the proxy. */
  rules?: BackendRules;
}

/** Sources: KEP-3726, standard application protocols; IANA service names for `grpc`. */
const H2C = new Set(['kubernetes.io/h2c', 'grpc']);

/** Protocols over TLS. Sources: KEP-3726; IANA service names. */
const TLS = new Set(['https', 'HTTPS', 'kubernetes.io/wss', 'wss', 'tls', 'ssl', 'grpcs']);

export interface Endpoints {
  service(namespace: string, name: string): Service | undefined;
  slices(namespace: string, service: string): readonly EndpointSlice[];
}

/** Returns a unique name of an Ingress's backend: namespace, Service, port. */
export function backendId(namespace: string, { service }: IngressBackend): string | undefined {
  if (!service) return undefined;
  return `${namespace}/${service.name}:${service.port?.name ?? service.port?.number ?? ''}`;
}

/** Returns the endpoints of a backend, or a sentence why it has none. */
export function backendOf(
  namespace: string,
  { service, resource }: IngressBackend,
  found: Endpoints,
): Backend | { reason: 'BackendNotFound' | 'BackendNotServed'; message: string } {
  const not = (message: string) => ({ reason: 'BackendNotServed', message }) as const;
  if (!service) return not(`backend ${resource?.kind} "${resource?.name}": only Services are served`);
  const there = found.service(namespace, service.name);
  if (!there) return { reason: 'BackendNotFound', message: `there is no Service "${service.name}"` };
  // An ExternalName Service could send requests to any address, past network policies.
  if (there.spec?.type === 'ExternalName')
    return not(`Service "${service.name}" is of type ExternalName, which is not served`);
  const { name, number } = service.port ?? {};
  const named = `port ${name === undefined ? number : `"${name}"`}`;
  const ports = (there.spec?.ports ?? []).filter((one) =>
    name === undefined ? one.port === number : one.name === name,
  );
  // A number may be a TCP port and a UDP port, in any order.
  const port = ports.find(({ protocol = 'TCP' }) => protocol === 'TCP');
  if (!port) {
    const [other] = ports;
    return other
      ? not(`${named} of Service "${service.name}" has protocol ${other.protocol}; only TCP is served`)
      : { reason: 'BackendNotFound', message: `Service "${service.name}" has no ${named}` };
  }
  if (TLS.has(port.appProtocol ?? ''))
    return not(
      `${named} of Service "${service.name}" has appProtocol ${port.appProtocol}; TLS to backends is not served`,
    );
  const slices = found.slices(namespace, service.name);
  return {
    protocol: H2C.has(port.appProtocol ?? '') ? 'h2c' : 'http1',
    endpoints: endpointsOf(slices, port.name ?? ''),
  };
}

/** Returns the ready endpoints. If none is ready, returns those that still serve while they terminate. */
function endpointsOf(slices: readonly EndpointSlice[], portName: string): string[] {
  const ready = new Set<string>();
  const ending = new Set<string>();
  for (const { addressType, endpoints, ports } of slices) {
    if (addressType !== 'IPv4' && addressType !== 'IPv6') continue;
    const port = ports?.find(({ name, protocol = 'TCP' }) => (name ?? '') === portName && protocol === 'TCP');
    if (port?.port === undefined) continue;
    for (const { addresses, conditions = {} } of endpoints ?? []) {
      const [address] = addresses;
      if (address === undefined) continue;
      const where = addressType === 'IPv6' ? `[${address}]:${port.port}` : `${address}:${port.port}`;
      if (conditions.ready !== false) ready.add(where);
      else if (conditions.serving === true && conditions.terminating === true) ending.add(where);
    }
  }
  return [...(ready.size > 0 ? ready : ending)].sort();
}
