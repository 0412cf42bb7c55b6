import { describe, expect, it } from 'vitest';
import type { Service } from '#api/core.ts';
import type { EndpointSlice, Ingress, IngressClass, IngressRule } from '#api/networking.ts';
import { backendFinder } from '../testing/find-backend.fixture.ts';
import { shownFor } from './claims.ts';
import { CONTROLLER_NAME } from './classes.ts';
import { compileRoutes, type RoutingWorld } from './compile.ts';
import { byHost } from './hosts.ts';

const klass = (name: string, more: Partial<IngressClass['metadata']> = {}, controller = CONTROLLER_NAME) => ({
  metadata: { name, ...more },
  spec: { controller },
});
const to = (name: string, port: { number?: number; name?: string } = { number: 80 }) => ({
  service: { name, port },
});
const rule = (host: string | undefined, service = 'web', path = '/', pathType = 'Prefix'): IngressRule => ({
  ...(host === undefined ? {} : { host }),
  http: { paths: [{ path, pathType, backend: to(service) }] },
});
/** Creates an Ingress; the larger `age`, the older it is. */
function ingress(name: string, spec: Ingress['spec'], { namespace = 'a', age = 0 } = {}): Ingress {
  const creationTimestamp = new Date(Date.UTC(2026, 0, 31 - age)).toISOString();
  return { metadata: { namespace, name, creationTimestamp }, spec: { ingressClassName: 'ours', ...spec } };
}
const services: Service[] = [
  { metadata: { name: 'web' }, spec: { ports: [{ port: 80, name: 'http' }] } },
  { metadata: { name: 'grpc' }, spec: { ports: [{ port: 80, appProtocol: 'kubernetes.io/h2c' }] } },
  {
    metadata: { name: 'both' },
    spec: {
      ports: [
        { port: 80, name: 'quic', protocol: 'UDP' },
        { port: 80, name: 'http', protocol: 'TCP' },
      ],
    },
  },
  { metadata: { name: 'udp' }, spec: { ports: [{ port: 80, protocol: 'UDP' }] } },
  { metadata: { name: 'tls' }, spec: { ports: [{ port: 80, appProtocol: 'https' }] } },
  { metadata: { name: 'out' }, spec: { type: 'ExternalName', ports: [{ port: 80 }] } },
];
const slice = (conditions: object[], more: Partial<EndpointSlice> = {}): EndpointSlice => ({
  metadata: { name: 's' },
  addressType: 'IPv4',
  ports: [{ name: 'http', port: 8080 }],
  endpoints: conditions.map((condition, at) => ({ addresses: [`10.0.0.${at + 1}`], conditions: condition })),
  ...more,
});
const world = (ingresses: Ingress[], more: Partial<RoutingWorld> = {}): RoutingWorld => ({
  ingresses,
  classes: [klass('ours')],
  service: (_namespace, name) => services.find(({ metadata }) => metadata.name === name),
  slices: () => [slice([{ ready: true }])],
  credentials: () => undefined,
  ...more,
});
const compiled = (ingresses: Ingress[], more: Partial<RoutingWorld> = {}) => {
  const routes = compileRoutes(world(ingresses, more));
  const find = backendFinder(routes);
  return {
    ...routes,
    find: (host: string, path = '/') => find(host, path),
    reported: routes.refusals.map(({ ingress, reason }) => `${ingress.metadata.name} ${reason}`),
  };
};

describe('an Ingress is served', () => {
  it.each<[string, Partial<Ingress['metadata']>, Ingress['spec'], IngressClass[], boolean]>([
    ['by its class', {}, { ingressClassName: 'ours' }, [klass('ours')], true],
    ['not by one that is not there', {}, { ingressClassName: 'ours' }, [], false],
    ['not by another controller’s', {}, { ingressClassName: 'x' }, [klass('x', {}, 'k8s.io/x')], false],
    [
      'by the old annotation',
      { annotations: { 'kubernetes.io/ingress.class': 'ours' } },
      {},
      [klass('ours')],
      true,
    ],
    ['not without a class', {}, {}, [klass('ours')], false],
    [
      'without a class where ours is the default',
      {},
      {},
      [klass('ours', { annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } })],
      true,
    ],
  ])('%s', (_how, metadata, spec, classes, isServed) => {
    const one: Ingress = {
      metadata: { namespace: 'a', name: 'i', ...metadata },
      spec: { ...spec, rules: [rule('h')] },
    };
    expect(compiled([one], { classes }).find('h')).toBe(isServed ? 'a/web:80' : undefined);
  });
});

describe('a host', () => {
  const other = { namespace: 'b' };
  it('belongs to the namespace of the oldest Ingress that names it, with all of its paths', () => {
    const { find, reported, refusals } = compiled([
      ingress('young', { rules: [rule('h.example', 'web', '/mine')] }, other),
      ingress('old', { rules: [rule('H.Example')] }, { age: 1 }),
    ]);
    expect([find('h.example'), find('h.example', '/mine')]).toEqual(['a/web:80', 'a/web:80']);
    expect(reported).toEqual(['young HostTaken']);
    expect(refusals[0]?.message).not.toContain('"a"');
  });
  it('belongs to the first Ingress by name if both have the same age', () => {
    const both = [ingress('y', { rules: [rule('h')] }, other), ingress('x', { rules: [rule('h')] })];
    expect(compiled(both).reported).toEqual(['y HostTaken']);
    expect(compiled(both.toReversed()).reported).toEqual(['y HostTaken']);
  });
  it('belongs to the namespace of an older wildcard that covers it', () => {
    const { find, reported, refusals, holders } = compiled([
      ingress('wild', { rules: [rule('*.example')] }, { age: 2 }),
      ingress('theirs', { rules: [rule('h.example', 'web', '/mine')] }, { ...other, age: 1 }),
      ingress('own', { rules: [rule('own.example', 'grpc')] }, { age: 1 }),
      ingress('deeper', { rules: [rule('x.h.example'), rule('example')] }, other),
    ]);
    expect([find('h.example', '/mine'), find('own.example')]).toEqual(['a/web:80', 'a/grpc:80']);
    expect([find('x.h.example'), find('example')]).toEqual(['b/web:80', 'b/web:80']);
    expect(reported).toEqual(['theirs HostTaken']);
    expect(refusals[0]?.message).toContain(
      '"h.example" belongs to an older Ingress of another namespace, whose',
    );
    expect(holders.has('h.example')).toBe(false);
  });
  it('is not taken by a younger wildcard, which gets the other names', () => {
    const { find, reported } = compiled([
      ingress('exact', { rules: [rule('h.example')] }, { ...other, age: 1 }),
      ingress('wild', { rules: [rule('*.example')] }),
      ingress('more', { rules: [rule('h.example', 'grpc', '/more')] }, other),
    ]);
    expect([find('h.example'), find('h.example', '/more'), find('x.example'), reported]).toEqual([
      ...['b/web:80', 'b/grpc:80', 'a/web:80'],
      [],
    ]);
  });
  it('may be empty, as in default backends and rules without a host', () => {
    const { find, reported } = compiled([
      ingress('old', { defaultBackend: to('web') }, { age: 1 }),
      ingress('young', { defaultBackend: to('grpc'), rules: [rule('h', 'web', '/a')] }, other),
    ]);
    // The younger Ingress's default backend serves its own host only.
    expect([find('x'), find('h', '/b'), reported]).toEqual(['a/web:80', 'b/grpc:80', ['young HostTaken']]);
  });
  it('has the paths of all Ingresses of its namespace; the older one wins a duplicate', () => {
    const { find, reported } = compiled([
      ingress('old', { rules: [rule('h', 'web', '/a')] }, { age: 1 }),
      ingress('young', { rules: [rule('h', 'grpc', '/a/'), rule('h', 'grpc', '/b')] }),
    ]);
    expect([find('h', '/a'), find('h', '/b'), reported]).toEqual([
      'a/web:80',
      'a/grpc:80',
      ['young PathTaken'],
    ]);
  });
  it('has the default backend of the oldest Ingress; others are reported for each host', () => {
    const { find, reported, refusals } = compiled([
      ingress('old', { defaultBackend: to('web'), rules: [rule('h', 'web', '/a')] }, { age: 2 }),
      ingress('alike', { defaultBackend: to('web'), rules: [rule('h', 'web', '/b')] }, { age: 1 }),
      ingress('young', {
        defaultBackend: to('grpc'),
        rules: [rule('h', 'grpc', '/c'), rule('own', 'grpc', '/c')],
      }),
    ]);
    expect([find('h', '/x'), find('x'), find('own')]).toEqual(['a/web:80', 'a/web:80', 'a/grpc:80']);
    expect(reported).toEqual(['young DefaultBackendTaken', 'young DefaultBackendTaken']);
    expect(refusals.map(({ message }) => message)).toEqual([
      'the default backend of host "h" is that of an older Ingress, which is served',
      'the default backend of hosts that no Ingress names is that of an older Ingress, which is served',
    ]);
  });
  it.each([
    ['/ü', '/%c3%bc', '/%C3%BC'],
    ['/%C3%BC', '/%c3%bc', '/%C3%BC'],
    ['/~me', '/%7Eme', '/~me'],
    ['/%7eme', '/%7Eme', '/~me'],
    ['/a b', '/a%20b', '/a%20b'],
    ['/%61', '/a', '/%61'],
    ['/100%', '/100%', '/100%25'],
  ])('matches path %s in each spelling', (path, ...asked) => {
    const { find } = compiled([ingress('i', { rules: [rule('h', 'web', path)] })]);
    expect(asked.map((one) => find('h', one))).toEqual(asked.map(() => 'a/web:80'));
  });
  it('does not treat an encoded slash as a separator', () => {
    const { find } = compiled([ingress('i', { rules: [rule('h', 'web', '/a/b')] })]);
    expect(find('h', '/a%2Fb')).toBeUndefined();
  });
  it('has only one of two paths that differ in spelling alone', () => {
    const one = ingress('i', { rules: [rule('h', 'web', '/~a'), rule('h', 'grpc', '/%7ea')] });
    expect(compiled([one]).reported).toEqual(['i PathTaken']);
  });
  it.each(['/a/%2e%2e/b', '/a\\b', '/%2E'])('reports that no served request can have path %s', (path) => {
    const one = ingress('i', { rules: [rule('h', 'web', path, 'ImplementationSpecific')] });
    expect(compiled([one]).reported).toEqual(['i PathUnsafe']);
  });
  it.each(['/a'.repeat(65), `/${'a'.repeat(4_096)}`])(
    'rejects a path with too many segments or characters, and serves others',
    (path) => {
      const { find, reported } = compiled([
        ingress('i', { rules: [rule('h', 'web', path), rule('h', 'web', '/b')] }),
      ]);
      expect([find('h', path), find('h', '/b'), reported]).toEqual([
        undefined,
        'a/web:80',
        ['i PathTooLong'],
      ]);
    },
  );
});

describe('a backend', () => {
  const endpoints = (slices: EndpointSlice[], backend = to('web')) =>
    compiled([ingress('i', { defaultBackend: backend })], { slices: () => slices })
      .backends.values()
      .next().value;
  it.each<[string, object[], string[]]>([
    ['ready ones', [{ ready: true }, { ready: false }, {}], ['10.0.0.1:8080', '10.0.0.3:8080']],
    [
      'those that end and serve, where none is ready',
      [
        { ready: false, serving: true, terminating: true },
        { ready: false, serving: false, terminating: true },
      ],
      ['10.0.0.1:8080'],
    ],
    ['none of them', [{ ready: false }], []],
  ])('has %s', (_what, conditions, expected) => {
    expect(endpoints([slice(conditions)])?.endpoints).toEqual(expected);
  });
  it('is found by name and number of its port, over several slices, in IPv6 too', () => {
    const six = slice([{}], { addressType: 'IPv6', endpoints: [{ addresses: ['fd00::1'] }] });
    const name = slice([{}], { addressType: 'FQDN', endpoints: [{ addresses: ['x.example'] }] });
    const found = endpoints([slice([{}]), six, name], to('web', { name: 'http' }));
    expect(found).toEqual({ protocol: 'http1', endpoints: ['10.0.0.1:8080', '[fd00::1]:8080'] });
  });
  it('uses the TCP port if a UDP port has the same number', () => {
    expect(endpoints([slice([{}])], to('both'))?.endpoints).toEqual(['10.0.0.1:8080']);
  });
  it('speaks HTTP/2 if the appProtocol of its port is h2c', () => {
    expect(endpoints([slice([{}], { ports: [{ name: '', port: 9 }] })], to('grpc'))?.protocol).toBe('h2c');
  });
  it.each<[string, Ingress['spec'], string]>([
    ['no Service', { defaultBackend: to('none') }, 'BackendNotFound'],
    ['no such port', { defaultBackend: to('web', { number: 81 }) }, 'BackendNotFound'],
    ['a UDP port', { defaultBackend: to('udp') }, 'BackendNotServed'],
    ['a port for TLS', { defaultBackend: to('tls') }, 'BackendNotServed'],
    ['a name outside', { defaultBackend: to('out') }, 'BackendNotServed'],
    ['a resource', { defaultBackend: { resource: { kind: 'Bucket', name: 'b' } } }, 'BackendNotServed'],
  ])('is reported without endpoints if it is %s', (_what, spec, reason) => {
    const { reported, backends } = compiled([ingress('i', spec)]);
    expect(reported).toEqual([`i ${reason}`]);
    expect([...backends.values()]).toEqual([{ protocol: 'http1', endpoints: [] }]);
  });
});

describe('a certificate', () => {
  const certificates = (tls: NonNullable<Ingress['spec']>['tls'] & {}, host = 'h.example') =>
    Object.fromEntries(compiled([ingress('i', { tls, rules: [rule(host)] })]).certificates);
  it.each<[string, NonNullable<Ingress['spec']>['tls'] & {}, Record<string, string>]>([
    ['by name', [{ hosts: ['H.example'], secretName: 's' }], { 'h.example': 'a/s' }],
    ['by wildcard', [{ hosts: ['*.example'], secretName: 's' }], { 'h.example': 'a/s' }],
    [
      'by name before wildcard',
      [
        { hosts: ['*.example'], secretName: 'w' },
        { hosts: ['h.example'], secretName: 's' },
      ],
      { 'h.example': 'a/s' },
    ],
    ['for all hosts', [{ secretName: 's' }], { 'h.example': 'a/s' }],
    ['not for other hosts', [{ hosts: ['x.example'], secretName: 's' }], {}],
    ['not without a Secret', [{ hosts: ['h.example'] }], {}],
  ])('is taken %s', (_how, tls, expected) => {
    expect(certificates(tls)).toEqual(expected);
  });
  it('is not used for a host of another namespace', () => {
    const tls = [{ hosts: ['h'], secretName: 's' }];
    const both = compiled([
      ingress('old', { rules: [rule('h')] }, { age: 1 }),
      ingress('young', { tls, rules: [rule('h')] }, { namespace: 'b' }),
    ]);
    expect([...both.certificates]).toEqual([]);
  });
  // Columns: the holders of h.example, of *.example and of any host; the hosts with a usable certificate.
  it.each<[string, [string, string, string], string[], string, string | null | undefined]>([
    ['its own', ['a', 'b', 'c'], ['h.example', '*.example'], 'h.example', 'a/h.example'],
    ['none of a wildcard of others', ['a', 'b', 'c'], ['*.example', ''], 'h.example', null],
    ['that of a wildcard of its holder', ['a', 'a', 'c'], ['*.example', ''], 'h.example', 'a/*.example'],
    [
      'its holder’s for any host, past a wildcard of others',
      ['a', 'b', 'a'],
      ['*.example', ''],
      'h.example',
      'a/',
    ],
    ['none where nobody has one', ['a', 'b', 'c'], [], 'h.example', undefined],
    [
      'the wildcard’s, where rules name only that',
      ['a', 'b', 'c'],
      ['*.example', ''],
      'x.example',
      'b/*.example',
    ],
    ['none for any host of others than the wildcard’s holder', ['a', 'b', 'a'], [''], 'x.example', null],
    ['that for any host, where no rule names it', ['a', 'b', 'c'], ['*.example', ''], 'x.other', 'c/'],
  ])('is shown for a host: %s', (_what, [ofHost, ofWildcard, ofAny], hosts, host, expected) => {
    const of = (namespace: string) => ({ namespace, name: 'i' });
    const holders = new Map([
      ['h.example', of(ofHost)],
      ['*.example', of(ofWildcard)],
      ['', of(ofAny)],
    ]);
    const usable = new Map(hosts.map((one) => [one, `${holders.get(one)?.namespace}/${one}`]));
    expect(byHost(shownFor(holders, usable), host)).toBe(expected);
  });
});

it('the length of a path counts its encoded form', () => {
  const { find, reported } = compiled([ingress('i', { rules: [rule('h', 'web', `/${'ü'.repeat(1_000)}`)] })]);
  expect([find('h', '/'), reported]).toEqual([undefined, ['i PathTooLong']]);
});

describe('annotations of an Ingress', () => {
  const annotated = (name: string, path: string, annotation: string, value: string) => {
    const made = ingress(name, { rules: [rule('h', 'web', path)] });
    return {
      ...made,
      metadata: { ...made.metadata, annotations: { [`ingress.ecs.yun.com/${annotation}`]: value } },
    };
  };

  it('apply to its own rules only, even if other rules use the same Service', () => {
    const { backends, find, reported } = compiled([
      ingress('plain', { rules: [rule('h', 'web', '/')] }),
      annotated('limited', '/limited', 'timeout-seconds', '5'),
    ]);
    const [plain = '', limited = ''] = [find('h', '/'), find('h', '/limited')];
    expect(backends.get(plain)?.rules).toBeUndefined();
    expect(backends.get(limited)?.rules?.settings).toEqual({ 'timeout-seconds': 5 });
    expect(reported).toEqual([]);
  });

  it('are reported if they cannot be used, and the rules of that Ingress get no endpoint', () => {
    const { backends, find, reported } = compiled([
      ingress('plain', { rules: [rule('h', 'web', '/')] }),
      annotated('open', '/open', 'allow-form', '10.0.0.0/8'),
    ]);
    expect(reported).toEqual(['open AnnotationInvalid']);
    expect(backends.get(find('h', '/open') ?? '')?.endpoints).toEqual([]);
    expect(backends.get(find('h', '/') ?? '')?.endpoints).toEqual(['10.0.0.1:8080']);
  });

  it('set the credentials of a rule, or the Service that authorizes requests', () => {
    const credentials = (namespace: string, name: string) =>
      name === 'there' ? `${namespace} hash` : undefined;
    const { backends, find, reported } = compiled(
      [
        annotated('basic', '/basic', 'basic-auth-secret', 'there'),
        annotated('asking', '/asking', 'auth-request', 'both:http/check'),
      ],
      { credentials },
    );
    expect(reported).toEqual([]);
    expect(backends.get(find('h', '/basic') ?? '')?.rules?.basic).toBe('a hash');
    const auth = { backend: 'a/both:http', host: 'both.a', path: '/check' };
    expect(backends.get(find('h', '/asking') ?? '')?.rules?.auth).toEqual(auth);
    expect(backends.get('a/both:http')?.endpoints).toEqual(['10.0.0.1:8080']);
  });

  it.each([
    ['basic-auth-secret', 'missing', /no Secret "missing" of type kubernetes.io\/basic-auth/],
    ['auth-response-headers', 'X-User', /auth-response-headers needs auth-request/],
    ['auth-request', 'missing:80/', /no Service "missing"/],
    ['auth-request', 'web:81/', /Service "web" has no port 81/],
    ['auth-request', 'out:80/', /ExternalName, which is not served/],
  ])('%s: %s is missing, so no request is served', (annotation, value, message) => {
    const { backends, find, refusals } = compiled([annotated('closed', '/', annotation, value)]);
    expect(refusals.map(({ reason }) => reason)).toEqual(['AnnotationInvalid']);
    expect(refusals[0]?.message).toMatch(message);
    expect(backends.get(find('h', '/') ?? '')).toEqual({ protocol: 'http1', endpoints: [] });
  });
});
