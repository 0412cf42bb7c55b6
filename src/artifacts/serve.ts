import { send } from '@fastify/send';
import Fastify, { type FastifyInstance } from 'fastify';
import { READ_BYTES, registryRoutes } from './registry/routes.ts';

/** Time limit of a request: hosts download large files, perhaps slowly, but they do not hang. */
const REQUEST_TIMEOUT_MS = 30_000;
/** Texts of errors other than a missing file. */
const TEXTS: Readonly<Record<number, string>> = {
  412: 'precondition failed\n',
  416: 'no such range\n',
  500: 'cannot be read\n',
};
/** Longest time that the server's close waits for an idle connection. */
const KEEP_ALIVE_MS = 5_000;

/**
 * Serves one directory to hosts: GET and HEAD, ranges, nothing else. There are no listings, no dotfiles, and no files
 * outside the directory. Its images can also be pulled, by the routes of a registry.
 *
 *     const app = artifactServer('/artifacts')
 *     await app.listen({ host: '0.0.0.0', port: 8080 })
 */
export function artifactServer(directory: string): FastifyInstance {
  const app = Fastify({
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    routerOptions: { maxParamLength: 1024 },
  });
  app.get('/healthz', async () => 'ok');
  registryRoutes(app, directory);
  app.get('/*', async (request, reply) => {
    const { statusCode, headers, stream, type } = await send(
      request.raw,
      request.url.split('?', 1)[0] ?? '',
      {
        root: directory,
        index: false,
        dotfiles: 'ignore',
        // A path names a file of a release, which never changes, and the sum in the inventory decides in any case.
        cacheControl: false,
        highWaterMark: READ_BYTES,
      },
    );
    if (type === 'file') return reply.code(statusCode).headers(headers).send(stream);
    stream.destroy();
    if (statusCode === 416) reply.header('content-range', headers['Content-Range']);
    const text = TEXTS[statusCode];
    return text === undefined ? reply.callNotFound() : reply.code(statusCode).type('text/plain').send(text);
  });
  // The answer must not contain a local path.
  app.setErrorHandler((error: { statusCode?: number }, _request, reply) => {
    const code = error.statusCode ?? 500;
    return reply
      .code(code)
      .type('text/plain')
      .send(code < 500 ? 'bad request\n' : 'cannot be read\n');
  });
  app.setNotFoundHandler((_request, reply) => reply.code(404).type('text/plain').send('not found\n'));
  return app;
}
