import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { imagePath, layout } from '../layout.ts';
import { releases } from '../releases.ts';
import { type ArchivedImage, rangeOf, readImageArchive } from './image-archive.ts';

/** Grammar of names. Source: OCI Distribution Specification 1.1, Pulling manifests, Pulling blobs, Error codes. */
const COMPONENT = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const NAME = `${COMPONENT}(?:/${COMPONENT})*`;
const PATH = new RegExp(`^(${NAME})/(manifests|blobs)/([A-Za-z0-9_][A-Za-z0-9._:-]{0,127})$`);
/** Bytes read from a file at once. The default of 64 KiB takes three times the CPU time. */
export const READ_BYTES = 1024 * 1024;
const querySchema = z.object({
  ns: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]*(:\d+)?$/)
    .default('docker.io'),
});

/**
 * Serves the images of an artifact directory read-only by the routes of a registry, which containerd requests from a mirror.
 * The registry of a name is in `?ns=`; names outside the layout get 404.
 */
export function registryRoutes(app: FastifyInstance, directory: string): void {
  const images = imagesUnder(directory);
  const refuse = (reply: FastifyReply, code: string) =>
    reply.code(404).send({ errors: [{ code, message: 'not among the artifacts' }] });

  app.get('/v2/', async (_request, reply) => reply.send({}));
  app.get<{ Params: { '*': string } }>('/v2/*', async (request, reply) => {
    const [, name, kind, reference] = PATH.exec(request.params['*']) ?? [];
    const query = querySchema.safeParse(request.query);
    if (name === undefined || reference === undefined || !query.success) return refuse(reply, 'NAME_UNKNOWN');
    const full = `${query.data.ns}/${name}`;
    if (kind === 'manifests') {
      const image = await images.find(full, reference);
      if (!image) return refuse(reply, 'MANIFEST_UNKNOWN');
      reply.header('docker-content-digest', image.digest).type(image.mediaType);
      return reply.header('content-length', image.manifest.length).send(image.manifest);
    }
    for (const path of await images.pathsOf(full)) {
      const entry = (await images.read(path))?.blobs.get(reference);
      if (!entry) continue;
      reply.header('docker-content-digest', reference).type('application/octet-stream');
      reply.header('content-length', entry.size);
      // Fastify would open the file for HEAD too, and leave it open.
      return reply.send(
        request.method === 'HEAD'
          ? ''
          : createReadStream(path, { ...rangeOf(entry), highWaterMark: READ_BYTES }),
      );
    }
    return refuse(reply, 'BLOB_UNKNOWN');
  });
}

/** Reads archives in a directory, each once until it changes. */
function imagesUnder(directory: string) {
  const known = new Map<string, { changed: number; image: Promise<ArchivedImage> }>();
  const laidOut = new Map(
    releases.flatMap((release) =>
      layout(release).flatMap(({ image, path }): [string, string][] =>
        image === undefined ? [] : [[image, path]],
      ),
    ),
  );

  async function read(path: string): Promise<ArchivedImage | undefined> {
    const changed = (await stat(path).catch(() => undefined))?.mtimeMs;
    if (changed === undefined) return undefined;
    const cached = known.get(path);
    if (cached?.changed === changed) return cached.image;
    const image = readImageArchive(path);
    known.set(path, { changed, image });
    // The next request reads a broken archive again.
    image.catch(() => known.delete(path));
    return image;
  }

  /** Lists archives of all tags of a name. */
  async function pathsOf(name: string): Promise<string[]> {
    const listed = [...laidOut].filter(([image]) => image.startsWith(`${name}:`)).map(([, path]) => path);
    const folder = dirname(imagePath(`${name}:x`));
    const prefix = `${basename(name)}_`;
    const files = await readdir(join(directory, folder)).catch(() => []);
    const found = files
      .filter((file) => file.startsWith(prefix) && file.endsWith('.tar'))
      .map((file) => join(folder, file));
    return [...new Set([...listed, ...found])].map((path) => join(directory, path));
  }

  async function find(name: string, reference: string): Promise<ArchivedImage | undefined> {
    if (!reference.startsWith('sha256:')) {
      const image = `${name}:${reference}`;
      return read(join(directory, laidOut.get(image) ?? imagePath(image)));
    }
    for (const path of await pathsOf(name)) {
      const image = await read(path);
      if (image?.digest === reference) return image;
    }
    return undefined;
  }
  return { read, pathsOf, find };
}
