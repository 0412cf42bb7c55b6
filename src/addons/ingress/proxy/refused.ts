import { configFile, type ProxyPaths, pemFile } from './locations.ts';
import { OWN_PEM, type ProxyBackend, type ProxyState } from './state.ts';

/** Remembers the objects that HAProxy refuses, so that one of them does not block the changes of others. */
export interface Refused {
  /** Returns the state without the refused objects: hosts get the proxy's own certificate, backends answer 503. */
  without(state: ProxyState): ProxyState;
  /** Remembers the objects of `state` that `problem`, HAProxy's complaint about `config`, names. Returns their names. */
  learn(state: ProxyState, config: string, problem: string, paths: ProxyPaths): string[];
}

const contentOf = ({ protocol, lines, servers }: ProxyBackend): string =>
  JSON.stringify([protocol, lines, [...servers]]);

/** Returns the name of the backend whose section contains a line. */
function backendAt(config: readonly string[], line: number): string | undefined {
  for (let at = Math.min(line, config.length) - 1; at >= 0; at -= 1) {
    const [, kind, name] = /^(\w+) ?(\S*)/.exec(config[at] ?? '') ?? [];
    if (kind !== undefined) return kind === 'backend' ? name : undefined;
  }
  return undefined;
}

export function createRefused(): Refused {
  // Name → content: a corrected object has new content, so it is tried again.
  const pems = new Map<string, string>();
  const backends = new Map<string, string>();
  return {
    without(state) {
      for (const name of pems.keys()) if (!state.pems.has(name)) pems.delete(name);
      for (const name of backends.keys()) if (!state.backends.has(name)) backends.delete(name);
      const isBadPem = (name: string) => pems.has(name) && pems.get(name) === state.pems.get(name);
      const kept = (name: string, backend: ProxyBackend): ProxyBackend =>
        backends.has(name) && backends.get(name) === contentOf(backend)
          ? { protocol: backend.protocol, servers: new Map(), lines: [] }
          : backend;
      return {
        ...state,
        backends: new Map([...state.backends].map(([name, backend]) => [name, kept(name, backend)])),
        shown: new Map([...state.shown].map(([host, pem]) => [host, isBadPem(pem) ? OWN_PEM : pem])),
        pems: new Map([...state.pems].filter(([name]) => !isBadPem(name))),
      };
    },
    learn(state, config, problem, paths) {
      const named: string[] = [];
      for (const [name, pem] of state.pems)
        if (name !== OWN_PEM && problem.includes(pemFile(paths, name))) {
          pems.set(name, pem);
          named.push(name);
        }
      const lines = config.split('\n');
      for (const [, file, line] of problem.matchAll(/\[([^\]\s]+):(\d+)\]/g)) {
        if (file !== configFile(paths)) continue;
        const name = backendAt(lines, Number(line));
        const backend = name === undefined ? undefined : state.backends.get(name);
        if (name === undefined || !backend || backend.lines.length + backend.servers.size === 0) continue;
        backends.set(name, contentOf(backend));
        named.push(name);
      }
      return [...new Set(named)];
    },
  };
}
