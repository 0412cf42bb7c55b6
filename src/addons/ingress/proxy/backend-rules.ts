import type { BackendRules } from '../routing/backends.ts';
import { normalizedPath } from '../routing/paths.ts';
import { nameOf } from './names.ts';
import { sources } from './sources.ts';

/** Number of clients that a backend with a limit of requests remembers. */
const CLIENTS = '100k';

/** Returns the lines that replace the beginning of a request's path. txn.path begins with the rule's path. */
function rewriting(to: string, { path, match }: { path: string; match: 'exact' | 'prefix' }): string[] {
  if (match === 'exact') return [`http-request set-path ${to}`];
  const normalized = normalizedPath(path);
  const length = normalized.endsWith('/') ? normalized.length - 1 : normalized.length;
  const base = to.endsWith('/') ? to.slice(0, -1) : to;
  return [
    `http-request set-path "${base}%[var(txn.path),bytes(${length})]" if { var(txn.path),length gt ${length} }`,
    `http-request set-path ${base === '' ? '/' : base} if { var(txn.path),length eq ${length} }`,
  ];
}

/** Returns the lines that refuse longer bodies, and over HTTP/1.1 bodies without a length. */
export const bodyLimit = (bytes: number): string[] => [
  `http-request deny status 413 if { req.hdr_val(content-length) gt ${bytes} }`,
  'http-request deny status 411 if { req.hdr(transfer-encoding) -m found }',
];

/** Returns the lines of a backend whose requests follow settings of an Ingress. routing/settings.ts validates all values. */
export function linesOf({ settings, rule, basic, auth }: BackendRules): string[] {
  const allowed = settings['allow-from'];
  const most = settings['max-body-bytes'];
  const rate = settings['requests-per-second'];
  const seconds = settings['timeout-seconds'];
  const hsts = settings['hsts-seconds'];
  const to = settings['rewrite-to'];
  return [
    ...(seconds === undefined ? [] : [`timeout server ${seconds}s`]),
    ...(allowed ? [...sources('allowed', allowed), 'http-request deny status 403 if !allowed'] : []),
    ...(rate === undefined
      ? []
      : [
          `stick-table type ipv6 size ${CLIENTS} expire 10s store http_req_rate(1s)`,
          'http-request track-sc0 src',
          `http-request deny status 429 if { sc_http_req_rate(0) gt ${rate} }`,
        ]),
    ...(settings['redirect-to-https']
      ? [
          'http-request redirect code 308 location "https://%[var(txn.asked)]%[pathq]" if !{ var(txn.https) -m found }',
        ]
      : []),
    // The password is for the proxy, so the backend does not get it.
    ...(basic === undefined
      ? []
      : [
          `http-request auth realm ingress unless { req.hdr(authorization),sha2(256),hex -m str ${basic} }`,
          'http-request del-header authorization',
        ]),
    ...(auth === undefined
      ? []
      : [
          `http-request lua.auth_request ${nameOf(auth.backend)} ${auth.host} ${auth.path} ${settings['auth-response-headers']?.join(',') ?? '-'}`,
        ]),
    ...(most === undefined ? [] : bodyLimit(most)),
    ...(to === undefined || rule === undefined ? [] : rewriting(to, rule)),
    ...(hsts === undefined
      ? []
      : [
          `http-response set-header Strict-Transport-Security max-age=${hsts} if { var(txn.https) -m found }`,
        ]),
    ...(settings.affinity
      ? [
          'cookie matryoshka-affinity insert indirect nocache httponly dynamic',
          'dynamic-cookie-key matryoshka',
        ]
      : []),
  ];
}
