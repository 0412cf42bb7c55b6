import { nameOf } from '../proxy/names.ts';
import { stateOf } from '../proxy/state.ts';
import type { Routes } from '../routing/compile.ts';
import { byHost, hostOf } from '../routing/hosts.ts';
import { normalizedPath } from '../routing/paths.ts';

/** Returns a function that finds the backend of a request as HAProxy does, by the maps of its state. */
export function backendFinder(
  routes: Pick<Routes, 'hosts' | 'backends'>,
): (host: string, path: string) => string | undefined {
  const certificates = { hosts: new Map(), pairs: new Map() };
  const { maps } = stateOf({ routes, certificates }, { cert: '', key: '' });
  const hosts = new Map([...maps.hosts].map(([host, key]) => [host === '*' ? '' : host, key]));
  const ids = new Map([...routes.backends.keys()].map((id) => [nameOf(id), id]));
  return (host, asked) => {
    const key = byHost(hosts, hostOf(host)) ?? '*';
    const path = normalizedPath(asked);
    const exact = maps.exact.get(`${key}|${path}`);
    if (exact !== undefined) return ids.get(exact);
    const prefixes = [...maps.prefix.keys()].filter((prefix) => `${key}|${path}/`.startsWith(prefix));
    return ids.get(maps.prefix.get(prefixes.toSorted((a, b) => b.length - a.length)[0] ?? '') ?? '');
  };
}
