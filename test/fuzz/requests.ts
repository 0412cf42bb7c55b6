import fc from 'fast-check';
import { keyPair } from '#base/testing/key-pair.ts';
import { routes } from '#rest/index.ts';

/** A request as an untrusted client might send it. */
export interface FuzzRequest {
  who: 'alice' | 'bob' | 'mallory' | 'nobody';
  method: string;
  /** Path below /api/v1, with the query. */
  path: string;
  headers: Record<string, string>;
  body: string | undefined;
}

const key = keyPair().private;
const lists = { masterList: [{ ip: '10.9.0.1' }], nodeList: [{ ip: '10.9.0.2' }] };

const nasty = fc.constantFrom<unknown>(
  ...[
    '',
    ' ',
    '\u0000',
    '../..',
    '%2e%2e',
    'a'.repeat(5000),
    '10.9.0.1',
    '::1',
    '0x7f.1',
    '10.244.0.0/16',
    'true',
  ],
  ...['__proto__', '-----BEGIN OPENSSH PRIVATE KEY-----', '$HOME', "'; rm -rf /", '🪆', 'v1.34.4', 'there'],
  ...[0, -1, 1e308, 2 ** 53, 22, null, true, [], {}, [[]], { ip: '10.9.0.7' }],
);
const anything = fc.oneof(
  { weight: 3, arbitrary: nasty },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
);

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the value with one place replaced, which `at` selects. */
function changed(value: unknown, at: number, other: unknown): unknown {
  if (Array.isArray(value)) {
    const index = at % (value.length + 1);
    if (index === value.length) return [...value, other];
    const rest = Math.floor(at / (value.length + 1));
    return value.map((item, place) => (place === index ? changed(item, rest, other) : item));
  }
  if (!isRecord(value)) return other;
  const names = [
    ...Object.keys(value),
    'retry',
    'privateSSHKey',
    'credentialsSecret',
    'podCIDR',
    'name',
    'nosuch',
  ];
  const name = names[at % names.length] ?? 'nosuch';
  const rest = Math.floor(at / names.length);
  return { ...value, [name]: name in value ? changed(value[name], rest, other) : other };
}

const seldom = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: 15, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });
const changes = fc.array(fc.tuple(fc.nat(10_000), anything), { maxLength: 4 });
const names = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('there', 'missing', 'made', 'mine') },
  { weight: 1, arbitrary: nasty.map(String) },
);

/** Generates requests over all routes: examples with changed places, truncated texts, paths and queries of all kinds. */
export const requests = (namespace: string): fc.Arbitrary<FuzzRequest> =>
  fc
    .record({
      route: fc.constantFrom(...routes),
      who: fc.constantFrom('alice', 'alice', 'bob', 'mallory', 'nobody'),
      name: names,
      region: fc.oneof(
        { weight: 5, arbitrary: fc.constant('north') },
        { weight: 1, arbitrary: nasty.map(String) },
      ),
      query: fc.oneof(
        { weight: 6, arbitrary: fc.constant(`?namespace=${namespace}`) },
        { weight: 1, arbitrary: nasty.map((value) => `?namespace=${encodeURIComponent(String(value))}`) },
        {
          weight: 1,
          arbitrary: nasty.map((value) => `?limit=${encodeURIComponent(String(value))}&continue=x`),
        },
      ),
      more: changes,
      cut: seldom(fc.nat(400)),
      accept: fc.constantFrom('*/*', 'application/json', 'text/html', 'application/yaml'),
      type: fc.constantFrom('application/json', 'text/plain', '', 'multipart/form-data'),
      method: seldom(fc.constantFrom('PUT', 'PATCH', 'OPTIONS', 'HEAD')),
    })
    .map(({ route, who, name, region, query, more, cut, accept, type, method }): FuzzRequest => {
      const path = route.path
        .replace('{region}', encodeURIComponent(region))
        .replace('{name}', encodeURIComponent(name));
      // Half of the bodies get a key, so that some clusters are really created.
      let body: unknown =
        more.length % 2 === 0 ? (route.example.body ?? {}) : { ...lists, privateSSHKey: key };
      for (const [at, other] of more) body = changed(body, at, other);
      const text = JSON.stringify(body);
      const hasBody = route.method !== 'GET' && (method ?? '') !== 'HEAD';
      return {
        who,
        method: method ?? route.method,
        path: `${path}${query}`,
        headers: { accept, ...(type === '' ? {} : { 'content-type': type }) },
        body: hasBody ? (cut === null ? text : text.slice(0, cut)) : undefined,
      };
    });
