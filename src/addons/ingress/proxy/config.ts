import { bodyLimit } from './backend-rules.ts';
import {
  authSocket,
  configFile,
  crtListFile,
  flagsFile,
  luaFile,
  mapFile,
  metricsSocket,
  type ProxyPaths,
  pemFile,
} from './locations.ts';
import { LOG_LINES } from './log-lines.ts';
import { luaOf } from './lua.ts';
import type { ProxySettings } from './settings.ts';
import { sources } from './sources.ts';
import { MAP_NAMES, type MapName, type ProxyBackend, type ProxyState } from './state.ts';

/** Header fields of one request: 16 KiB, and 1 KiB for the fields that the proxy adds. */
const BUFFER_BYTES = 17_408;
const REWRITE_BYTES = 1_024;
const MAX_FIELDS = 101;
/** Processes that a reload replaced and that still have connections, such as WebSockets. */
const MAX_OLD_PROCESSES = 20;
const STREAMS = 128;

/**
 * Matches a path that a backend may shorten after the rules were compared (`..`), or read in two ways. It matches the same
 * paths as isUnsafePath of src/addons/ingress/routing/paths.ts.
 */
const UNSAFE_PATH = String.raw`'(?i)(/|%2f)(\.|%2e){1,2}(?=[/;]|%2f|$)|\\|%5c|%00'`;

/**
 * Checks of endpoints. An endpoint that refuses connections gets no requests until a check succeeds; a check runs each
 * second. An endpoint that works is practically never checked (`inter`), because Kubernetes probes it.
 */
const SERVER_OPTIONS =
  'check inter 24h fastinter 1s downinter 1s rise 1 fall 1 observe layer4 error-limit 1 on-error mark-down';

/** Returns the options of a server, for the file and for `add server`. */
export const serverLine = ({ protocol }: ProxyBackend, address: string): string =>
  `${address} ${protocol === 'h2c' ? 'proto h2 ' : ''}${SERVER_OPTIONS}`;

const indented = (lines: readonly string[]): string[] => lines.map((line) => `  ${line}`);

function globalSection(settings: ProxySettings, paths: ProxyPaths): string[] {
  return [
    `maxconn ${settings.connections}`,
    // HAProxy also counts a file for each endpoint. Fewer connections are better than no start.
    'no strict-limits',
    `nbthread ${settings.threads}`,
    `stats socket ${paths.adminSocket} mode 600 level admin`,
    `mworker-max-reloads ${MAX_OLD_PROCESSES}`,
    `lua-load-per-thread ${luaFile(paths)}`,
    `tune.bufsize ${BUFFER_BYTES}`,
    `tune.maxrewrite ${REWRITE_BYTES}`,
    `tune.http.maxhdr ${MAX_FIELDS}`,
    `tune.h2.max-concurrent-streams ${STREAMS}`,
    'tune.h2.fe.glitches-threshold 100',
    'ssl-default-bind-options ssl-min-ver TLSv1.2',
    // A Service that decides about requests gets each question once.
    'httpclient.retries 0',
  ];
}

function defaultsSection(settings: ProxySettings): string[] {
  const { idleSeconds, tunnelIdleSeconds, keepAliveSeconds, headerSeconds, connectSeconds } = settings;
  return [
    'mode http',
    'option dontlognull',
    // On a reload, a request on a kept connection gets its answer before the connection is closed.
    'option idle-close-on-response',
    // Servers of the CGI family read X_Forwarded_For as X-Forwarded-For.
    'option http-restrict-req-hdr-names delete',
    'option http-no-delay',
    `timeout connect ${connectSeconds}s`,
    `timeout queue ${connectSeconds}s`,
    `timeout check ${connectSeconds}s`,
    `timeout client ${idleSeconds}s`,
    `timeout server ${idleSeconds}s`,
    `timeout http-request ${headerSeconds}s`,
    `timeout http-keep-alive ${keepAliveSeconds}s`,
    `timeout tunnel ${tunnelIdleSeconds}s`,
    // Another endpoint gets a request only if no endpoint has seen it.
    'retries 2',
    'retry-on conn-failure',
    'option redispatch 1',
  ];
}

function binds(settings: ProxySettings, paths: ProxyPaths, hasIpv6: boolean): string[] {
  const hosts = settings.host === undefined ? ['*', ...(hasIpv6 ? ['[::]'] : [])] : [settings.host];
  const tls = `ssl crt-list ${crtListFile(paths)} alpn h2,http/1.1`;
  return hosts.flatMap((host) => {
    const only = host === '[::]' ? ' v6only' : '';
    return [`bind ${host}:${settings.httpPort}${only}`, `bind ${host}:${settings.httpsPort}${only} ${tls}`];
  });
}

/** Returns the lines that set the fields with the origin of a request. */
function forwarding(trustedProxies: readonly string[]): string[] {
  const hasTrusted = trustedProxies.length > 0;
  const ours = (name: string, value: string) =>
    `http-request set-header ${name} ${value}${hasTrusted ? ` if !trusted or !{ req.hdr(${name}) -m found }` : ''}`;
  return [
    ...(hasTrusted ? ['acl trusted var(sess.trusted) -m found'] : []),
    `http-request del-header x-forwarded- -m beg${hasTrusted ? ' if !trusted' : ''}`,
    'http-request del-header forwarded',
    'http-request del-header x-real-ip',
    'http-request add-header X-Forwarded-For %[src]',
    ours('X-Forwarded-Host', '%[req.hdr(host)]'),
    ours('X-Forwarded-Port', '%[var(txn.port)]'),
    ours('X-Forwarded-Proto', '%[ssl_fc,iif(https,http)]'),
  ];
}

function refusals(maxBodyBytes: number): string[] {
  return [
    "http-request deny status 400 if { req.hdr_cnt(host) gt 1 } or { req.fhdr(host) -m reg '[^A-Za-z0-9._:[\\]-]' }",
    'http-request deny status 400 if !{ req.hdr(host) -m found } { req.ver 1.1 }',
    'http-request deny status 501 if { method CONNECT }',
    `http-request deny status 400 if { var(txn.path) -m reg ${UNSAFE_PATH} }`,
    ...(maxBodyBytes > 0 ? bodyLimit(maxBodyBytes) : []),
  ];
}

function routing(paths: ProxyPaths): string[] {
  const map = (kind: string, name: MapName) => `map_${kind}(${mapFile(paths, name)})`;
  const unless = (name: string) => `if !{ var(txn.${name}) -m found }`;
  return [
    `http-request set-var(txn.host) var(txn.asked),${map('str', 'hosts')}`,
    `http-request set-var(txn.host) var(txn.asked),regsub(^[^.]+,*),${map('str', 'hosts')} ${unless('host')}`,
    `http-request set-var(txn.host) str(*) ${unless('host')}`,
    `http-request set-var(txn.backend) var(txn.host),concat(|,txn.path),${map('str', 'exact')}`,
    `http-request set-var(txn.backend) var(txn.host),concat(|,txn.path,/),${map('beg', 'prefix')} ${unless('backend')}`,
    `http-request return status 200 content-type text/plain string ok if { path /healthz } { var(txn.host) -m str * } !{ var(txn.backend) -m found }`,
    `http-request return status 404 content-type "text/plain; charset=utf-8" string "no Ingress has a rule for this host and path" ${unless('backend')}`,
  ];
}

function frontend(settings: ProxySettings, paths: ProxyPaths, hasIpv6: boolean): string[] {
  const { trustedProxies, proxyProtocol, accessLog } = settings;
  return [
    ...binds(settings, paths, hasIpv6),
    ...sources('trusted_peer', trustedProxies),
    // This reads the peer's address before the PROXY protocol replaces it.
    ...(trustedProxies.length > 0
      ? ['tcp-request connection set-var(sess.trusted) bool(true) if trusted_peer']
      : []),
    ...(proxyProtocol && trustedProxies.length > 0
      ? ['tcp-request connection expect-proxy layer4 if trusted_peer']
      : []),
    ...(accessLog ? LOG_LINES : []),
    'http-request set-var(txn.asked) req.hdr(host),host_only,lower,rtrim(.)',
    'http-request set-var(txn.port) req.hdr(host),port_only',
    'http-request set-var(txn.port) ssl_fc,iif(443,80) if { var(txn.port) -m int 0 }',
    'http-request set-var(txn.path) path',
    "http-request set-var(txn.path) var(txn.path),lua.normalized_path if { path -m reg '[^A-Za-z0-9._~!$&()*+,;=:@/-]' }",
    ...refusals(settings.maxBodyBytes),
    'http-request lua.drop_listed if { req.hdr(connection) -m found }',
    ...['keep-alive', 'proxy-connection', 'proxy-authorization', 'http2-settings'].map(
      (name) => `http-request del-header ${name}`,
    ),
    ...forwarding(trustedProxies),
    'http-request set-var(txn.https) bool(true) if { req.hdr(x-forwarded-proto) -m str https }',
    'http-request set-var(txn.id) req.hdr(x-request-id) if { req.hdr(x-request-id) -m reg ^[A-Za-z0-9_-]{8,64}$ }',
    'http-request set-var(txn.id) uuid if !{ var(txn.id) -m found }',
    'http-request set-header X-Request-ID %[var(txn.id)]',
    ...routing(paths),
    `http-after-response set-header Connection close if { str(shed),map_str(${flagsFile(paths)}) -m found }`,
    'http-response del-header Keep-Alive',
    'http-after-response set-header Server matryoshka if !{ res.hdr(server) -m found }',
    'http-after-response set-header Date %[date,http_date] if !{ res.hdr(date) -m found }',
    'use_backend %[var(txn.backend)]',
  ];
}

const section = (title: string, lines: readonly string[]): string[] => [title, ...indented(lines), ''];

/** Returns the text of haproxy.cfg. */
function configOf(state: ProxyState, settings: ProxySettings, paths: ProxyPaths, hasIpv6: boolean): string {
  const backends = [...state.backends].flatMap(([name, backend]) =>
    section(`backend ${name}`, [
      'balance roundrobin',
      ...backend.lines,
      ...[...backend.servers].map(([server, address]) => `server ${server} ${serverLine(backend, address)}`),
    ]),
  );
  return [
    ...section('global', globalSection(settings, paths)),
    ...section('defaults', defaultsSection(settings)),
    ...section('frontend ingress', frontend(settings, paths, hasIpv6)),
    ...section('frontend metrics', [
      `bind unix@${metricsSocket(paths)} mode 600`,
      'http-request use-service prometheus-exporter',
    ]),
    ...section('frontend auth', [
      `bind unix@${authSocket(paths)} mode 600`,
      'http-request set-var(txn.backend) req.hdr(x-matryoshka-backend)',
      'http-request del-header x-matryoshka-backend',
      'use_backend %[var(txn.backend)]',
    ]),
    ...backends,
  ].join('\n');
}

/** HAProxy reads a map in pieces of a buffer, and would take the rest of a longer line as a separate entry. */
const MAX_LINE = 8_192;

export const mapText = (map: ReadonlyMap<string, string>): string =>
  [...map]
    .map(([key, value]) => `${key} ${value}\n`)
    .filter((line) => line.length <= MAX_LINE)
    .join('');

/** Returns the line that shows a certificate for a host. Source: haproxy 3.0 management manual, crt-list. */
export const crtListLine = (paths: ProxyPaths, host: string, pem: string): string =>
  `${pemFile(paths, pem)} ${host}`;

/** Returns all files of a proxy that serves `state`, by path. */
export function filesOf(
  state: ProxyState,
  settings: ProxySettings,
  paths: ProxyPaths,
  hasIpv6: boolean,
): Map<string, string> {
  const files = new Map([
    [luaFile(paths), luaOf(authSocket(paths))],
    [flagsFile(paths), ''],
    [
      crtListFile(paths),
      [...state.shown].map(([host, pem]) => `${crtListLine(paths, host, pem)}\n`).join(''),
    ],
    [configFile(paths), configOf(state, settings, paths, hasIpv6)],
  ]);
  for (const name of MAP_NAMES) files.set(mapFile(paths, name), mapText(state.maps[name]));
  for (const [name, pem] of state.pems) files.set(pemFile(paths, name), pem);
  return files;
}
