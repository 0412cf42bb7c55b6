import type { Ingress, IngressBackend, IngressClass } from '#api/networking.ts';
import { canonicalJson } from '#base/canonical.ts';
import { type AccessWorld, accessOf } from './access.ts';
import { type Backend, type BackendRules, backendId, backendOf } from './backends.ts';
import { byAge, claimHosts, type Holder, hostsOf, type Refusal } from './claims.ts';
import { isOursBy } from './classes.ts';
import { ANY_HOST, hostOf, wildcardOf } from './hosts.ts';
import { isUnsafePath, normalizedPath } from './paths.ts';
import { type IngressSettings, settingsOf } from './settings.ts';

/** A path of a host. `prefix` matches by elements; the name of a backend is its key in `backends`. */
export interface PathRule {
  path: string;
  match: 'exact' | 'prefix';
  backend: string;
}
export interface HostRules {
  paths: readonly PathRule[];
  /** Of requests that no path matches. */
  otherwise?: string;
}

/** All that Ingresses ask for, as plain data: it passes between processes as JSON. */
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
  /** The Ingresses that are ours, oldest first. */
  served: Ingress[];
  /** Whose each host is. */
  holders: ReadonlyMap<string, Holder>;
}

/** Each element costs memory in every process that serves; no request of that length is read at all. */
const MAX_PATH = 4_096;
const MAX_ELEMENTS = 64;
const isTooLong = (path: string): boolean =>
  path.length > MAX_PATH || path.split('/').length > MAX_ELEMENTS + 1;

interface Growing {
  paths: Map<string, PathRule>;
  otherwise?: string;
}

/** The routes of the Ingresses that are ours, and what of them is refused. */
export function compileRoutes(world: RoutingWorld): Compiled {
  const served = byAge(world.ingresses.filter(isOursBy(world.classes)));
  const { holders, refusals } = claimHosts(served);
  const hosts = new Map<string, Growing>();
  const backends = new Map<string, Backend>();
  const certificates = new Map<string, string>();

  for (const ingress of served) {
    const { namespace = '' } = ingress.metadata;
    const { rules = [], defaultBackend } = ingress.spec ?? {};
    const refuse = (reason: Refusal['reason'], message: string) =>
      void refusals.push({ ingress, reason, message });
    const { settings, problems: unreadable } = settingsOf(ingress);
    const access = accessOf(settings, namespace, world);
    const problems = [...unreadable, ...access.problems];
    if (access.backend && problems.length === 0 && !backends.has(access.backend[0]))
      backends.set(...access.backend);
    for (const problem of problems)
      refuse('AnnotationInvalid', `${problem}; until then its requests get 503`);
    const backend = (asked: IngressBackend, rule?: BackendRules['rule']): string => {
      const found = backendOf(namespace, asked, world);
      if ('reason' in found) refuse(found.reason, found.message);
      const rules = rulesOf(settings, rule, access.rules);
      const isServed = !('reason' in found) && problems.length === 0;
      const plain = backendId(namespace, asked) ?? `${namespace}/:none`;
      const id =
        problems.length > 0 ? `${namespace}/:invalid` : rules ? `${plain}#${canonicalJson(rules)}` : plain;
      if (!backends.has(id))
        backends.set(
          id,
          isServed ? { ...found, ...(rules ? { rules } : {}) } : { protocol: 'http1', endpoints: [] },
        );
      return id;
    };
    const growing = (host: string): Growing | undefined => {
      if (holders.get(host)?.namespace !== namespace) return undefined;
      const there = hosts.get(host) ?? { paths: new Map() };
      hosts.set(host, there);
      return there;
    };
    for (const { host: named = '', http } of rules) {
      const host = hostOf(named);
      const there = growing(host);
      if (!there) continue;
      // A rule without paths leads all of its host to the default backend.
      for (const { path = '/', pathType, backend: asked } of http?.paths ?? []) {
        const compared = normalizedPath(path);
        // As HAProxy has it: a letter beyond ASCII is up to nine characters there.
        if (isTooLong(compared)) {
          const message = `path "${path.slice(0, 64)}…" of host "${host}" has more than ${MAX_PATH} characters, encoded, or ${MAX_ELEMENTS} elements`;
          refuse('PathTooLong', message);
          continue;
        }
        if (isUnsafePath(compared)) {
          const message = `path "${path}" of host "${host}" has a "." or ".." element, a backslash or a NUL; requests with one are refused`;
          refuse('PathUnsafe', message);
          continue;
        }
        const match = pathType === 'Exact' ? 'exact' : 'prefix';
        const key = `${match} ${match === 'prefix' ? withoutSlash(compared) : compared}`;
        if (there.paths.has(key))
          refuse('PathTaken', `path "${path}" of host "${host}" is in an older rule, which is served`);
        else there.paths.set(key, { path, match, backend: backend(asked, { path, match }) });
      }
    }
    if (defaultBackend) {
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
    for (const host of hostsOf(ingress)) {
      const secret = secretFor(ingress, host);
      if (secret !== undefined && hosts.has(host) && holders.get(host)?.namespace === namespace)
        if (!certificates.has(host)) certificates.set(host, `${namespace}/${secret}`);
    }
  }
  return {
    hosts: new Map([...hosts].map(([host, one]) => [host, grown(one)])),
    backends,
    certificates,
    refusals,
    served,
    holders,
  };
}

/** Undefined: requests are served as all others. */
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

/** The Secret that an Ingress names for a host of its own: by name, by wildcard, or for all of its hosts. */
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
