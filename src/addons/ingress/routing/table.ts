import type { Backend } from './backends.ts';
import type { HostRules, PathRule, Routes } from './compile.ts';
import { byHost } from './hosts.ts';
import { normalizedPath } from './paths.ts';

/** One element of paths, and what follows it. */
interface PathNode {
  children: Map<string, PathNode> | undefined;
  exact: string | undefined;
  /** A path with a slash at its end is another than the one without, where it is to match exactly. */
  exactSlash: string | undefined;
  prefix: string | undefined;
}
interface HostTable {
  root: PathNode;
  otherwise: string | undefined;
}

/** Where a request goes; `name` is that of the backend. */
export interface Route {
  name: string;
  backend: Backend;
}

/** Never changed: another takes its place. A look costs as many steps as the path that it finds has elements. */
export interface RouteTable {
  /** `host` as hostOf makes it, `path` without its query, in any spelling; undefined: no rule matches. */
  find(host: string, path: string): Route | undefined;
  hasBackend(name: string): boolean;
}

const node = (): PathNode => ({
  children: undefined,
  exact: undefined,
  exactSlash: undefined,
  prefix: undefined,
});

function add(root: PathNode, { path: written, match, backend }: PathRule): void {
  const path = normalizedPath(written);
  const hasSlash = path.endsWith('/');
  const elements = path === '/' ? [] : (hasSlash ? path.slice(1, -1) : path.slice(1)).split('/');
  let at = root;
  for (const element of elements) {
    at.children ??= new Map();
    const next = at.children.get(element) ?? node();
    at.children.set(element, next);
    at = next;
  }
  if (match === 'prefix') at.prefix ??= backend;
  else if (hasSlash) at.exactSlash ??= backend;
  else at.exact ??= backend;
}

/** The rules of one host, ready for looks. */
export function hostTable({ paths, otherwise }: HostRules): HostTable {
  const root = node();
  for (const rule of paths) add(root, rule);
  return { root, otherwise };
}

/** The longest that matches; of the same length exact before prefix. */
function match(root: PathNode, path: string): string | undefined {
  let found = root.prefix;
  let at = root;
  // The path begins with a slash; each turn is one element.
  for (let start = 1; ; ) {
    if (start === path.length) return at.exactSlash ?? found;
    const slash = path.indexOf('/', start);
    const end = slash === -1 ? path.length : slash;
    const next = at.children?.get(path.slice(start, end));
    if (!next) return found;
    at = next;
    found = next.prefix ?? found;
    if (slash === -1) return next.exact ?? found;
    start = slash + 1;
  }
}

/** A table of host tables, which it may share with the one before it. */
export function tableOf(
  hosts: ReadonlyMap<string, HostTable>,
  backends: ReadonlyMap<string, Backend>,
): RouteTable {
  return {
    find(host, path) {
      const there = byHost(hosts, host);
      if (!there) return undefined;
      const name = match(there.root, normalizedPath(path)) ?? there.otherwise;
      const backend = name === undefined ? undefined : backends.get(name);
      return name === undefined || !backend ? undefined : { name, backend };
    },
    hasBackend: (name) => backends.has(name),
  };
}

/** A table of its own, of all routes at once. */
export const tableOfRoutes = ({ hosts, backends }: Pick<Routes, 'hosts' | 'backends'>): RouteTable =>
  tableOf(new Map([...hosts].map(([host, rules]) => [host, hostTable(rules)])), backends);
