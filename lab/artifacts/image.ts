import { createHash } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { sha256OfFile } from './hash.ts';
import { packTar } from './tar.ts';

/** A container image: layers from bottom to top, each a set of files or a finished tar. */
export interface ImageRecipe {
  readonly tag: string;
  readonly layers: readonly (string | LayerFiles)[];
  readonly entrypoint: readonly string[];
}

/**
 * Go programs collect garbage a quarter as often as by default, and use one processor each. The lab has enough memory, but
 * two processors for a hundred such programs, which would wake each other for nothing.
 */
export const ENVIRONMENT = [
  'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  'GOGC=400',
  'GOMAXPROCS=1',
];

/** Path in the image → file to copy there. */
export type LayerFiles = Readonly<Record<string, string>>;

/** Writes the image in the format of `docker save`, which upstream publishes and `ctr images import` reads. */
export async function writeImage(recipe: ImageRecipe, out: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'matryoshka-image-'));
  try {
    const archive = join(work, 'archive');
    await mkdir(archive);
    const layers: string[] = [];
    for (const [index, layer] of recipe.layers.entries()) {
      const tar = typeof layer === 'string' ? layer : await layerTar(layer, join(work, `layer-${index}`));
      const digest = await sha256OfFile(tar);
      layers.push(digest);
      await mkdir(join(archive, digest));
      await copyFile(tar, join(archive, digest, 'layer.tar'));
    }
    const config = JSON.stringify({
      architecture: 'amd64',
      os: 'linux',
      config: {
        Entrypoint: recipe.entrypoint,
        Env: ENVIRONMENT,
      },
      rootfs: { type: 'layers', diff_ids: layers.map((digest) => `sha256:${digest}`) },
    });
    const configFile = `${createHash('sha256').update(config).digest('hex')}.json`;
    await writeFile(join(archive, configFile), config);
    await writeFile(
      join(archive, 'manifest.json'),
      JSON.stringify([
        { Config: configFile, RepoTags: [recipe.tag], Layers: layers.map((digest) => `${digest}/layer.tar`) },
      ]),
    );
    await packTar(archive, out);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function layerTar(files: LayerFiles, folder: string): Promise<string> {
  for (const [path, source] of Object.entries(files)) {
    const target = join(folder, path);
    await mkdir(dirname(target), { recursive: true });
    if (source.startsWith('->')) await symlink(source.slice(2), target);
    else await copyFile(source, target);
  }
  await packTar(folder, `${folder}.tar`);
  return `${folder}.tar`;
}
