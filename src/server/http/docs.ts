import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { ERRORS, ERRORS_PATH } from '#rest/errors.ts';
import { routes } from '#rest/index.ts';
import { openApiOf } from '#rest/openapi.ts';

/** Returns the folder with the files of the page: beside the bundle, or in the package if nothing is bundled. */
function staticDir(): string {
  const beside = join(import.meta.dirname, 'static');
  if (existsSync(join(beside, 'swagger-ui.css'))) return beside;
  return join(dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui')), 'static');
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** Returns the page of all errors, to whose sections problem details link. */
const errorsPage = (): string =>
  [
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Errors of Matryoshka</title>',
    '<h1>Errors</h1>',
    ...Object.entries(ERRORS).map(
      ([kind, { status, title, advice }]) =>
        `<h2 id="${kind}">${kind}</h2><p>${status}: ${escaped(title)}. ${escaped(advice)}</p>`,
    ),
    '</html>',
  ].join('\n');

/** Serves the OpenAPI document of the routes for users, and a page for it under /docs. */
export async function serveDocs(app: FastifyInstance): Promise<void> {
  const baseDir = staticDir();
  app.get(ERRORS_PATH, async (_request, reply) => reply.type('text/html; charset=utf-8').send(errorsPage()));
  await app.register(swagger, {
    mode: 'static',
    specification: { document: openApiOf(routes, '/api/v1') },
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    baseDir,
    logo: { type: 'image/svg+xml', content: await readFile(join(baseDir, 'logo.svg')) },
    uiConfig: { deepLinking: true, persistAuthorization: false },
  });
}
