import { createSecureContext, type SecureContext } from 'node:tls';
import { byHost, hostOf } from '../routing/hosts.ts';

/** Certificate (with its chain) and key, as PEM. */
export interface Pair {
  cert: string;
  key: string;
}

/** Certificates by host, as clients name it when they connect (SNI). */
export interface Certificates {
  readonly own: Pair;
  /** The context of a host; of one that has none, or names nothing, our own. */
  contextFor(servername: string): SecureContext;
  /** Puts others in the place of all: hosts with the name of their pair, null for our own. */
  replace(hosts: ReadonlyMap<string, string | null>, pairs: ReadonlyMap<string, Pair>): void;
}

/** `own` is what clients are shown who ask for a host that has no other. */
export function createCertificates(own: Pair): Certificates {
  const contextOf = ({ cert, key }: Pair) => createSecureContext({ cert, key, minVersion: 'TLSv1.2' });
  const fallback = contextOf(own);
  let hosts: ReadonlyMap<string, string | null> = new Map();
  let pairs: ReadonlyMap<string, Pair> = new Map();
  /** Made when they are first asked for: there may be thousands. */
  const made = new Map<string, { pair: Pair; context: SecureContext }>();

  return {
    own,
    contextFor(servername) {
      const name = byHost(hosts, hostOf(servername)) ?? undefined;
      const pair = name === undefined ? undefined : pairs.get(name);
      if (name === undefined || !pair) return fallback;
      const there = made.get(name);
      if (there && there.pair.cert === pair.cert && there.pair.key === pair.key) return there.context;
      try {
        const context = contextOf(pair);
        made.set(name, { pair, context });
        return context;
      } catch {
        // OpenSSL refuses what looked well: a key that is too short, for instance.
        return fallback;
      }
    },
    replace(nextHosts, nextPairs) {
      hosts = nextHosts;
      pairs = nextPairs;
      for (const name of [...made.keys()]) if (!pairs.has(name)) made.delete(name);
    },
  };
}
