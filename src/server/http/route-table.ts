import type { FastifyInstance } from 'fastify';

/** The routes of a server, by path: what its router does not tell. */
export interface RouteTable {
  /** In order; empty for a path that is none of them. */
  methodsOf(path: string): string[];
}

/** Methods that Fastify does not know by itself: a request with one is answered like any other. */
const UNCOMMON = ['TRACE', 'QUERY'];

/** Notes every route that is registered from now on. */
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
