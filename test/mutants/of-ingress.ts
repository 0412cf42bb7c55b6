import type { Mutant, Witness } from './mutant.ts';

const PROXY = 'src/addons/ingress/proxy';
const unit = (file: string, test: string): Witness => ({ project: 'unit', file, test });
const smuggled = (test: string) => unit(`${PROXY}/smuggling.test.ts`, test);
const compiled = (test: string) => unit('src/addons/ingress/routing/compile.test.ts', test);

/** Ownership of hosts, acceptance of requests, and the headers that an endpoint gets. */
export const ofIngress: readonly Mutant[] = [
  {
    name: 'a host is whoever’s came last',
    file: 'src/addons/ingress/routing/claims.ts',
    from: 'if (holder && holder.namespace !== namespace) refusals.push({ ingress, ...taken(host, !own) });\n      else if (!own) holders.set',
    to: 'if (!holder || holder.namespace !== namespace) holders.set',
    witness: compiled('belongs to the namespace of the oldest Ingress'),
  },
  {
    name: 'a name is taken from below somebody’s wildcard',
    file: 'src/addons/ingress/routing/claims.ts',
    from: 'own ?? holders.get(wildcardOf(host) ?? host)',
    to: 'own',
    witness: compiled('belongs to the namespace of an older wildcard'),
  },
  {
    name: 'the certificate of a host is anybody’s',
    file: 'src/addons/ingress/routing/compile.ts',
    from: 'hosts.has(host) && holders.get(host)?.namespace === namespace',
    to: 'hosts.has(host)',
    witness: compiled('is not used for a host of another namespace'),
  },
  {
    name: 'a name outside of the cluster is served',
    file: 'src/addons/ingress/routing/backends.ts',
    from: "there.spec?.type === 'ExternalName'",
    to: "there.spec?.type === 'NoName'",
    witness: compiled('is reported without endpoints'),
  },
  {
    name: 'dots in paths are passed on',
    file: `${PROXY}/config.ts`,
    from: '{ var(txn.path) -m reg',
    to: '{ var(txn.id) -m reg',
    witness: smuggled('".." in the path'),
  },
  {
    name: 'a client says where it came from',
    file: `${PROXY}/config.ts`,
    from: 'http-request del-header x-forwarded- -m beg',
    to: 'http-request del-header x-nothing- -m beg',
    witness: unit(`${PROXY}/requests.test.ts`, 'carries forwarding fields of the proxy'),
  },
  {
    name: 'a request is sent again once an endpoint has seen it',
    file: `${PROXY}/config.ts`,
    from: "'retry-on conn-failure'",
    to: "'retry-on all-retryable-errors'",
    witness: unit(`${PROXY}/requests.test.ts`, 'is not repeated once bytes'),
  },
  {
    name: 'HAProxy does not learn of another backend',
    file: `${PROXY}/changes.ts`,
    from: 'before?.protocol !== protocol ||',
    to: 'before &&',
    witness: unit(`${PROXY}/changes.test.ts`, 'for another backend'),
  },
  {
    name: 'one certificate that HAProxy refuses holds up all changes',
    file: `${PROXY}/haproxy.ts`,
    from: 'const usable = refused.without(state);\n      const config',
    to: 'const usable = state;\n      const config',
    witness: unit(`${PROXY}/tls.test.ts`, 'whose pair OpenSSL rejects'),
  },
  {
    name: 'an Ingress whose Secret with credentials is missing is open',
    file: 'src/addons/ingress/routing/access.ts',
    from: 'if (basic !== undefined) access.rules.basic = basic;\n    else',
    to: 'if (basic !== undefined) access.rules.basic = basic;\n    else if (basic)',
    witness: compiled('is missing, so no request is served'),
  },
  {
    name: 'a client says who it is',
    file: `${PROXY}/lua.ts`,
    from: 'txn.http:req_del_header(name)\n        for',
    to: 'for',
    witness: unit(`${PROXY}/settings-of-ingress.test.ts`, 'removes client fields'),
  },
  {
    name: 'a request passes whose Service fails',
    file: `${PROXY}/lua.ts`,
    from: 'status >= 200 and status < 300',
    to: 'status < 300 or status >= 404',
    witness: unit(`${PROXY}/settings-of-ingress.test.ts`, ' of the Service with '),
  },
];
