/**
 * Fields of the access log: a line of JSON for each request, without its query, which may hold secrets. Source: haproxy 3.0
 * manual, 8.2.4.
 */
const text = (expression: string) => `"%[${expression},json(utf8s)]"`;
const LOG_FIELDS: Readonly<Record<string, string>> = {
  time: '"%[accept_date(ms),ms_utime(%Y-%m-%dT%H:%M:%S.%3NZ)]"',
  method: text('var(txn.method)'),
  host: text('var(txn.asked)'),
  path: text('var(txn.path)'),
  version: text('var(txn.version)'),
  client: text('src'),
  status: '%ST',
  backend: text('var(txn.backend)'),
  endpoint: '"%si:%sp"',
  bytesIn: '%U',
  bytesOut: '%B',
  tls: '%[ssl_fc,iif(true,false)]',
  ms: '%Ta',
  requestId: text('var(txn.id)'),
};
const LOG_FORMAT = `'{${Object.entries(LOG_FIELDS)
  .map(([name, value]) => `"${name}":${value}`)
  .join(',')}}'`;

/** Lines of a frontend that logs each request. */
export const LOG_LINES = [
  'log stdout len 8192 format raw local0 info',
  `log-format ${LOG_FORMAT}`,
  'http-request set-var(txn.method) method',
  'http-request set-var(txn.version) req.ver',
];
