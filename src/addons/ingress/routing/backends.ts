import type { Service } from '#api/core.ts';
import type { EndpointSlice, IngressBackend } from '#api/networking.ts';
import type { IngressSettings } from './settings.ts';

/** How a backend is spoken to: HTTP/1.1, or HTTP/2 without TLS, as gRPC servers want it. */
export type Protocol = 'http1' | 'h2c';

/** How the requests of a backend are served. `rule` is set if they are rewritten. */
export interface BackendRules {
  settings: IngressSettings;
  rule?: { path: string; match: 'exact' | 'prefix' };
  /** SHA-256 of the only Authorization field that is let in, in capital hexadecimal digits. */
  basic?: string;
  /** The backend that decides about each request, by id; the Host and path that it is asked with. */
  auth?: { backend: string; host: string; path: string };
}

/** Where requests go. `endpoints` are `address:port`, an IPv6 address in brackets. */
export interface Backend {
  protocol: Protocol;
  endpoints: readonly string[];
  /** Absent: as all others. */
  rules?: BackendRules;
}

/** Source: KEP-3726, standard application protocols; `grpc` is the IANA name that its servers are given. */
const H2C = new Set(['kubernetes.io/h2c', 'grpc']);

/** Protocols over TLS. Sources: KEP-3726; IANA service names. */
const TLS = new Set(['https', 'HTTPS', 'kubernetes.io/wss', 'wss', 'tls', 'ssl', 'grpcs']);

export interface Endpoints {
  service(namespace: string, name: string): Service | undefined;
  slices(namespace: string, service: string): readonly EndpointSlice[];
}

/** A backend of an Ingress by a name of its own: namespace, Service, port. */
export function backendId(namespace: string, { service }: IngressBackend): string | undefined {
  if (!service) return undefined;
  return `${namespace}/${service.name}:${service.port?.name ?? service.port?.number ?? ''}`;
}

/** The endpoints of a backend, or in a sentence why there cannot be any. */
export function backendOf(
  namespace: string,
  { service, resource }: IngressBackend,
  found: Endpoints,
): Backend | { reason: 'BackendNotFound' | 'BackendNotServed'; message: string } {
  const not = (message: string) => ({ reason: 'BackendNotServed', message }) as const;
  if (!service) return not(`backend ${resource?.kind} "${resource?.name}": only Services are served`);
  const there = found.service(namespace, service.name);
  if (!there) return { reason: 'BackendNotFound', message: `there is no Service "${service.name}"` };
  // Whoever may write a Service could lead requests anywhere, past policies for pods.
  if (there.spec?.type === 'ExternalName')
    return not(`Service "${service.name}" is of type ExternalName, which is not served`);
  const { name, number } = service.port ?? {};
  const named = `port ${name === undefined ? number : `"${name}"`}`;
  const ports = (there.spec?.ports ?? []).filter((one) =>
    name === undefined ? one.port === number : one.name === name,
  );
  // One number may be a TCP port and a UDP port, in any order.
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

/** Those that are ready; where there are none, those that still serve while they end. */
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
