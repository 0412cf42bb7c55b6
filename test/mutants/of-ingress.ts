import type { Mutant, Witness } from './mutant.ts';

const PROXY = 'src/addons/ingress/proxy';
const unit = (file: string, test: string): Witness => ({ project: 'unit', file, test });
const smuggled = (test: string) => unit(`${PROXY}/smuggling.test.ts`, test);
const compiled = (test: string) => unit('src/addons/ingress/routing/compile.test.ts', test);

/** Whose a host is, which request is taken, and what an endpoint is told. */
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
    witness: compiled('that an older wildcard covers'),
  },
  {
    name: 'the certificate of a host is anybody’s',
    file: 'src/addons/ingress/routing/compile.ts',
    from: 'hosts.has(host) && holders.get(host)?.namespace === namespace',
    to: 'hosts.has(host)',
    witness: compiled('for a host of another namespace is not taken'),
  },
  {
    name: 'a name outside of the cluster is served',
    file: 'src/addons/ingress/routing/backends.ts',
    from: "there.spec?.type === 'ExternalName'",
    to: "there.spec?.type === 'NoName'",
    witness: compiled('is told, and has no endpoints'),
  },
  {
    name: 'the same length may be told twice',
    file: `${PROXY}/http1/fields.ts`,
    from: "if (length !== undefined) throw new MessageError(400, 'the length of the body is told twice');\n        if (!DIGITS",
    to: 'if (!DIGITS',
    witness: smuggled('both lengths'),
  },
  {
    name: 'chunk extensions of clients are passed over',
    file: `${PROXY}/http1/body.ts`,
    from: 'new ChunkedBody(false)',
    to: 'new ChunkedBody(true)',
    witness: smuggled('a chunk extension'),
  },
  {
    name: 'dots in paths are passed on',
    file: `${PROXY}/http1/heads.ts`,
    from: 'if (isUnsafePath(path))',
    to: 'if (isUnsafePath(method))',
    witness: smuggled('".." in the path'),
  },
  {
    name: 'a client says where it came from',
    file: `${PROXY}/forwarded.ts`,
    from: 'if (!isTrusted) continue;',
    to: '',
    witness: unit(`${PROXY}/proxy.test.ts`, 'believes nothing that the client says of it'),
  },
  {
    name: 'a connection with bytes that nobody asked for is used again',
    file: `${PROXY}/endpoint-connection.ts`,
    from: 'if (used < bytes.length) this.#isReusable = false;',
    to: '',
    witness: unit(`${PROXY}/proxy.test.ts`, 'beyond the answer to the one before'),
  },
  {
    name: 'a head of HTTP/2 is as long as its client likes',
    file: `${PROXY}/h2-client.ts`,
    from: 'if (length > headBytes)',
    to: 'if (length > 100 * headBytes)',
    witness: unit(`${PROXY}/h2-heads.test.ts`, 'that is too large'),
  },
  {
    name: 'an endpoint that goes takes with it what was not yet sent',
    file: `${PROXY}/h2-endpoint.ts`,
    from: 'kept.streams === 0 && kept.session.close()',
    to: 'kept.session.close()',
    witness: unit(`${PROXY}/h2-endpoint.test.ts`, 'that was not yet sent'),
  },
];
