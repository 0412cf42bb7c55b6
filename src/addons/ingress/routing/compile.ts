import type { Ingress, IngressBackend, IngressClass } from '#api/networking.ts';
import { canonicalJson } from '#base/canonical.ts';
import { type AccessWorld, accessOf } from './access.ts';
import { type Backend, type BackendRules, backendId, backendOf } from './backends.ts';
import { byAge, claimHosts, type Holder, hostsOf, type Refusal } from './claims.ts';
import { isOursBy } from './classes.ts';
import { ANY_HOST, hostOf, wildcardOf } from './hosts.ts';
import { isUnsafePath, normalizedPath } from './paths.ts';
import { type IngressSettings, settingsOf } from './settings.ts';

/** Path of a host. `prefix` matches by elements; `backend` is a key of `backends`. */
export interface PathRule {
  path: string;
  match: 'exact' | 'prefix';
  backend: string;
}
export interface HostRules {
  paths: readonly PathRule[];
  /** Backend of requests that match no path. */
  otherwise?: string;
}

/** Routes of all Ingresses as plain data, which passes between processes as JSON. */
export interface Routes {
  hosts: ReadonlyMap<string, HostRules>;
  backends: ReadonlyMap<string, Backend>;
  /** Host of a rule → `namespace/name` of the Secret with its certificate. */
  certificates: ReadonlyMap<string, string>;
}

export interface RoutingWorld extends AccessWorld {
  ingresses: readonly Ingress[];
  classes: readonly IngressClass[];
}

export interface Compiled extends Routes {
  refusals: Refusal[];
  /** Our Ingresses, oldest first. */
  served: Ingress[];
  /** Holder of each host. */
  holders: ReadonlyMap<string, Holder>;
  /** The Ingresses (`namespace/name`) that use each backend. */
  users: ReadonlyMap<string, ReadonlySet<string>>;
}

/**
 * Limits on paths. Each element costs memory in every serving process, and HAProxy reads no request as long as the limit.
 */
const MAX_PATH = 4_096;
const MAX_ELEMENTS = 64;
const isTooLong = (path: string): boolean =>
  path.length > MAX_PATH || path.split('/').length > MAX_ELEMENTS + 1;

interface Growing {
  paths: Map<string, PathRule>;
  otherwise?: string;
}

/** State that grows with each Ingress, the oldest first. */
interface Growth {
  world: RoutingWorld;
  holders: ReadonlyMap<string, Holder>;
  refusals: Refusal[];
  hosts: Map<string, Growing>;
  backends: Map<string, Backend>;
  certificates: Map<string, string>;
  users: Map<string, Set<string>>;
}
/** State while one Ingress is added. */
interface Added extends Growth {
  ingress: Ingress;
  namespace: string;
  refuse(reason: Refusal['reason'], message: string): void;
  /** Returns the id of a backend of the Ingress. */
  backend(asked: IngressBackend, rule?: BackendRules['rule']): string;
  /** Returns the rules of a host; undefined if it belongs to another namespace. */
  growing(host: string): Growing | undefined;
}

/** Returns the routes of our Ingresses, and the refused parts. */
export function compileRoutes(world: RoutingWorld): Compiled {
  const served = byAge(world.ingresses.filter(isOursBy(world.classes)));
  const { holders, refusals } = claimHosts(served);
  const growth: Growth = {
    ...{ world, holders, refusals },
    ...{ hosts: new Map(), backends: new Map(), certificates: new Map(), users: new Map() },
  };
  for (const ingress of served) {
    const added = addedTo(growth, ingress);
    addRules(added);
    addDefaultBackend(added);
    addCertificates(added);
  }
  const { hosts, backends, certificates, users } = growth;
  return {
    hosts: new Map([...hosts].map(([host, one]) => [host, grown(one)])),
    ...{ backends, certificates, refusals, served, holders, users },
  };
}

function addedTo(growth: Growth, ingress: Ingress): Added {
  const { namespace = '', name = '' } = ingress.metadata;
  const { world, holders, refusals, hosts, backends, users } = growth;
  const refuse: Added['refuse'] = (reason, message) => void refusals.push({ ingress, reason, message });
  const { settings, problems: unreadable } = settingsOf(ingress);
  const access = accessOf(settings, namespace, world);
  const problems = [...unreadable, ...access.problems];
  for (const problem of problems) refuse('AnnotationInvalid', `${problem}; until then its requests get 503`);
  if (access.backend && problems.length === 0 && !backends.has(access.backend[0]))
    backends.set(...access.backend);
  return {
    ...growth,
    ...{ ingress, namespace, refuse },
    backend(asked, rule) {
      const found = backendOf(namespace, asked, world);
      const isMissing = 'reason' in found;
      if (isMissing) refuse(found.reason, found.message);
      const rules = rulesOf(settings, rule, access.rules);
      const id = problems.length > 0 ? `${namespace}/:invalid` : idOf(namespace, asked, rules);
      users.set(id, (users.get(id) ?? new Set()).add(`${namespace}/${name}`));
      if (backends.has(id)) return id;
      const isServed = !isMissing && problems.length === 0;
      backends.set(
        id,
        isServed ? { ...found, ...(rules ? { rules } : {}) } : { protocol: 'http1', endpoints: [] },
      );
      return id;
    },
    growing(host) {
      if (holders.get(host)?.namespace !== namespace) return undefined;
      const there = hosts.get(host) ?? { paths: new Map() };
      hosts.set(host, there);
      return there;
    },
  };
}

function idOf(namespace: string, asked: IngressBackend, rules: BackendRules | undefined): string {
  const plain = backendId(namespace, asked) ?? `${namespace}/:none`;
  return rules ? `${plain}#${canonicalJson(rules)}` : plain;
}

/** Returns the reason why a path cannot be served; undefined if it can. */
function problemOfPath(path: string, host: string): [reason: Refusal['reason'], message: string] | undefined {
  const compared = normalizedPath(path);
  // HAProxy gets the encoded path, in which a character beyond ASCII takes up to nine characters.
  if (isTooLong(compared))
    return [
      'PathTooLong',
      `path "${path.slice(0, 64)}…" of host "${host}" has more than ${MAX_PATH} characters, encoded, or ${MAX_ELEMENTS} elements`,
    ];
  if (isUnsafePath(compared))
    return [
      'PathUnsafe',
      `path "${path}" of host "${host}" has a "." or ".." element, a backslash or a NUL; requests with one are refused`,
    ];
  return undefined;
}

function addRules({ ingress, growing, refuse, backend }: Added): void {
  for (const { host: named = '', http } of ingress.spec?.rules ?? []) {
    const host = hostOf(named);
    const there = growing(host);
    if (!there) continue;
    // A rule without paths sends all requests of its host to the default backend.
    for (const { path = '/', pathType, backend: asked } of http?.paths ?? []) {
      const problem = problemOfPath(path, host);
      if (problem) {
        refuse(...problem);
        continue;
      }
      const compared = normalizedPath(path);
      const match = pathType === 'Exact' ? 'exact' : 'prefix';
      const key = `${match} ${match === 'prefix' ? withoutSlash(compared) : compared}`;
      if (there.paths.has(key))
        refuse('PathTaken', `path "${path}" of host "${host}" is in an older rule, which is served`);
      else there.paths.set(key, { path, match, backend: backend(asked, { path, match }) });
    }
  }
}

function addDefaultBackend({ ingress, growing, refuse, backend }: Added): void {
  const { defaultBackend } = ingress.spec ?? {};
  if (!defaultBackend) return;
  const id = backend(defaultBackend);
  for (const host of hostsOf(ingress)) {
    const there = growing(host);
    if (!there) continue;
    there.otherwise ??= id;
    if (there.otherwise === id) continue;
    const whose = host === ANY_HOST ? 'hosts that no Ingress names' : `host "${host}"`;
    refuse(
      'DefaultBackendTaken',
      `the default backend of ${whose} is that of an older Ingress, which is served`,
    );
  }
}

function addCertificates({ ingress, namespace, hosts, holders, certificates }: Added): void {
  for (const host of hostsOf(ingress)) {
    const secret = secretFor(ingress, host);
    if (secret !== undefined && hosts.has(host) && holders.get(host)?.namespace === namespace)
      if (!certificates.has(host)) certificates.set(host, `${namespace}/${secret}`);
  }
}

/** Returns the rules of a backend; undefined if the Ingress sets none. */
function rulesOf(
  settings: IngressSettings,
  rule: BackendRules['rule'],
  access: Pick<BackendRules, 'basic' | 'auth'>,
): BackendRules | undefined {
  if (Object.keys(settings).length === 0) return undefined;
  return { settings, ...access, ...(settings['rewrite-to'] === undefined || !rule ? {} : { rule }) };
}

const grown = ({ paths, otherwise }: Growing): HostRules => ({
  paths: [...paths.values()],
  ...(otherwise === undefined ? {} : { otherwise }),
});

const withoutSlash = (path: string): string => (path.endsWith('/') ? path.slice(0, -1) : path);

/** Returns the Secret that an Ingress names for a host: by name, by wildcard, or for all of its hosts. */
export function secretFor({ spec }: Ingress, host: string): string | undefined {
  const covers = (one: { hosts?: string[] }, name: string | undefined) =>
    name !== undefined && (one.hosts ?? []).some((listed) => hostOf(listed) === name);
  const tls = (spec?.tls ?? []).filter(({ secretName }) => secretName !== undefined && secretName !== '');
  const found =
    tls.find((one) => host !== ANY_HOST && covers(one, host)) ??
    tls.find((one) => covers(one, wildcardOf(host))) ??
    tls.find(({ hosts = [] }) => hosts.length === 0);
  return found?.secretName;
}
