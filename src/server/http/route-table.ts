import type { FastifyInstance } from 'fastify';

/** The routes of a server by path, which Fastify's router does not provide. */
export interface RouteTable {
  /** Returns the sorted methods of a path; empty for an unknown path. */
  methodsOf(path: string): string[];
}

/** Methods that Fastify does not know by default; with these, a request with one gets an ordinary answer. */
const UNCOMMON = ['TRACE', 'QUERY'];

/** Records every route that is registered from now on. */
export function routeTableOf(app: FastifyInstance): RouteTable {
  const known: { method: string; pattern: RegExp }[] = [];
  for (const method of UNCOMMON)
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: method === 'QUERY' });
  app.addHook('onRoute', ({ method, url }) => {
    const text = url
      .replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&')
      .replaceAll(/:\w+/g, '[^/]+')
      .replaceAll('*', '.*');
    for (const one of [method].flat()) known.push({ method: one, pattern: new RegExp(`^${text}/?$`) });
  });
  return {
    methodsOf(path) {
      const methods = known.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
      return [...new Set(methods)].sort();
    },
  };
}
