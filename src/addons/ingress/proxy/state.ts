import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import type { Backend, Protocol } from '../routing/backends.ts';
import type { Routes } from '../routing/compile.ts';
import { ANY_HOST } from '../routing/hosts.ts';
import { normalizedPath } from '../routing/paths.ts';
import { linesOf } from './backend-rules.ts';
import { nameOf } from './names.ts';

/** Certificate (with its chain) and key, as PEM. */
export interface Pair {
  cert: string;
  key: string;
}

/** Certificates by host, as clients name it in the handshake (SNI). */
export interface Certificates {
  /** Host → name of its pair in `pairs`; null: the proxy's own certificate. */
  hosts: ReadonlyMap<string, string | null>;
  pairs: ReadonlyMap<string, Pair>;
}

/** Routes and certificates that the Ingresses ask for. */
export interface Served {
  routes: Pick<Routes, 'hosts' | 'backends'>;
  certificates: Certificates;
}

export interface ProxyBackend {
  protocol: Protocol;
  /** Name of the server → `address:port`. */
  servers: ReadonlyMap<string, string>;
  /** Lines of its section, without its servers. */
  lines: readonly string[];
}

/**
 * Names of the maps. `hosts`: host → key of its paths. `exact`, `prefix`: `host|path` → backend; a prefix ends with a slash.
 */
export const MAP_NAMES = ['hosts', 'exact', 'prefix'] as const;
export type MapName = (typeof MAP_NAMES)[number];

/** Served state in HAProxy's names. Equal states produce equal files. */
export interface ProxyState {
  backends: ReadonlyMap<string, ProxyBackend>;
  maps: Readonly<Record<MapName, ReadonlyMap<string, string>>>;
  /** File name → PEM. */
  pems: ReadonlyMap<string, string>;
  /** Host, or wildcard → file name; `*` is for all other hosts. */
  shown: ReadonlyMap<string, string>;
}

/** File of the certificate for hosts that have none. */
export const OWN_PEM = 'own.pem';
/** Name in the proxy's own certificate, which no host can have, so HAProxy always has that certificate. Source: RFC 2606. */
export const OWN_HOST = 'ingress.invalid';
/** Key for requests to hosts without rules. */
const OTHER_HOSTS = '*';

/** Returns a file name for a pair. A Secret's name may be too long for it; the namespace, 63 characters at most, is kept. */
const pemName = (name: string): string =>
  `${nameOf(name).slice(0, 100)}-${createHash('sha256').update(name).digest('hex').slice(0, 16)}.pem`;

const pemOf = ({ cert, key }: Pair): string => `${cert.trim()}\n${key.trim()}\n`;

/**
 * Whether an endpoint has a plain IP address. The API accepts addresses such as 10.0.0.08; HAProxy would resolve these by
 * DNS, and then refuse its whole configuration.
 */
function isPlain(endpoint: string): boolean {
  const [, address = '', port = ''] = /^\[?([0-9A-Fa-f:.]+?)\]?:(\d{1,5})$/.exec(endpoint) ?? [];
  return isIP(address) !== 0 && Number(port) > 0 && Number(port) < 65_536;
}

const serverName = (address: string): string => address.replaceAll(/[[\]]/g, '');

function backendOf({ protocol, endpoints, rules }: Backend): ProxyBackend {
  const servers = new Map(endpoints.filter(isPlain).map((address) => [serverName(address), address]));
  return { protocol, servers, lines: rules ? linesOf(rules) : [] };
}

/** Returns the state of a proxy that serves `served` and shows `own` for hosts without a certificate. */
export function stateOf({ routes, certificates }: Served, own: Pair): ProxyState {
  const maps = {
    hosts: new Map<string, string>(),
    exact: new Map<string, string>(),
    prefix: new Map<string, string>(),
  };
  for (const [name, { paths, otherwise }] of routes.hosts) {
    const host = name === ANY_HOST ? OTHER_HOSTS : name;
    maps.hosts.set(host, host);
    for (const { path: written, match, backend } of paths) {
      const path = normalizedPath(written);
      if (match === 'exact') maps.exact.set(`${host}|${path}`, nameOf(backend));
      else maps.prefix.set(`${host}|${path.endsWith('/') ? path : `${path}/`}`, nameOf(backend));
    }
    if (otherwise !== undefined) maps.prefix.set(`${host}|`, nameOf(otherwise));
  }
  const pems = new Map([[OWN_PEM, pemOf(own)]]);
  for (const [name, pair] of certificates.pairs) pems.set(pemName(name), pemOf(pair));
  const shown = new Map([
    // HAProxy shows the first entry to clients that name no host, or an unknown one.
    [OTHER_HOSTS, OWN_PEM],
    [OWN_HOST, OWN_PEM],
  ]);
  for (const [host, name] of certificates.hosts) {
    const isThere = name !== null && certificates.pairs.has(name);
    shown.set(host === ANY_HOST ? OTHER_HOSTS : host, isThere ? pemName(name) : OWN_PEM);
  }
  return {
    backends: new Map([...routes.backends].map(([id, backend]) => [nameOf(id), backendOf(backend)])),
    maps,
    pems,
    shown,
  };
}
