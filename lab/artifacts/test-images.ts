import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, cp, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { docker } from '../hosts/docker.ts';
import { buildImage } from '../hosts/image.ts';
import { ensureBinaries } from './binaries.ts';
import { goToolchain } from './go.ts';
import { cacheDir, modulesDir } from './places.ts';
import { announced, type Say } from './progress.ts';

/** Images in one file of `docker save`, so that shared layers occur once. */
export interface ImageArchive {
  readonly path: string;
  /** Stamp that changes with any of the images. */
  readonly stamp: string;
  readonly tags: readonly string[];
}

interface TestImage {
  readonly tag: string;
  /** Folder below `test-images/`. */
  readonly folder: string;
  /** Our image on which it is based. */
  readonly base?: string;
  /** Name beside its Dockerfile → file to copy there. */
  readonly files?: Readonly<Record<string, string>>;
}

const REGISTRY = 'registry.k8s.io/e2e-test-images';
const SAVE_TIMEOUT_MS = 5 * 60_000;
const sources = join(import.meta.dirname, 'test-images');
const archives = join(cacheDir, 'test-images');

/**
 * Builds the images that upstream's specs run in pods, by the names that they use (`e2e.test --list-images`). They are
 * upstream's programs on Debian. The pause image is on every host already.
 */
export async function testImages(say: Say): Promise<ImageArchive> {
  const tags: string[] = [];
  for (const image of await recipes(say)) tags.push(await build(image, say));
  const stamp = createHash('sha256')
    .update(await idsOf(tags))
    .digest('hex')
    .slice(0, 16);
  const path = join(archives, `${stamp}.tar`);
  if (!existsSync(path)) await announced(say, 'test images', () => save(tags, path));
  return { path, stamp, tags };
}

const idsOf = (tags: readonly string[]) => docker(['image', 'inspect', '--format', '{{.Id}}', ...tags]);

async function recipes(say: Say): Promise<TestImage[]> {
  const programs = await ensureBinaries('kubernetes-e2e', ['agnhost', 'nnp'], say);
  const porter = join(await upstreamSource(), 'test/images/agnhost/porter');
  const agnhost = `${REGISTRY}/agnhost:2.56`;
  const files = {
    agnhost: join(programs, 'agnhost'),
    'localhost.crt': join(porter, 'localhost.crt'),
    'localhost.key': join(porter, 'localhost.key'),
  };
  return [
    { tag: agnhost, folder: 'agnhost', files },
    // cyclonus uses the same image by this name.
    { tag: `${REGISTRY}/agnhost:2.43`, folder: 'agnhost', files },
    { tag: `${REGISTRY}/busybox:1.37.0-1`, folder: 'busybox' },
    { tag: `${REGISTRY}/httpd:2.4.38-4`, folder: 'httpd' },
    { tag: `${REGISTRY}/httpd:2.4.39-4`, folder: 'httpd' },
    { tag: `${REGISTRY}/nginx:1.14-4`, folder: 'nginx' },
    { tag: `${REGISTRY}/nginx:1.15-4`, folder: 'nginx' },
    { tag: `${REGISTRY}/jessie-dnsutils:1.7`, folder: 'jessie-dnsutils', base: agnhost },
    { tag: `${REGISTRY}/nautilus:1.7`, folder: 'nautilus', base: agnhost },
    { tag: `${REGISTRY}/nonewprivs:1.3`, folder: 'nonewprivs', files: { nnp: join(programs, 'nnp') } },
  ];
}

/** Returns the folder of the Kubernetes source that our module names. */
async function upstreamSource(): Promise<string> {
  const { stdout } = await execa(
    await goToolchain(),
    ['list', '-mod=readonly', '-m', '-f', '{{.Dir}}', 'k8s.io/kubernetes'],
    { cwd: join(modulesDir, 'kubernetes-e2e'), timeout: 120_000, stdin: 'ignore' },
  );
  return stdout.trim();
}

async function build({ tag, folder, base, files = {} }: TestImage, say: Say): Promise<string> {
  const context = await mkdtemp(join(tmpdir(), 'matryoshka-test-image-'));
  try {
    await cp(join(sources, folder), context, { recursive: true });
    for (const [name, path] of Object.entries(files)) await copyFile(path, join(context, name));
    // A new base image needs a new build, because the image's own files do not show it.
    const upon = base === undefined ? {} : { BASE: await idsOf([base]) };
    return await buildImage(tag, context, say, { args: { TAG: tag, ...upon } });
  } finally {
    await rm(context, { recursive: true, force: true });
  }
}

async function save(tags: readonly string[], path: string): Promise<void> {
  await mkdir(archives, { recursive: true });
  for (const old of await readdir(archives)) await rm(join(archives, old), { force: true });
  await docker(['save', '-o', `${path}.part`, ...tags], SAVE_TIMEOUT_MS);
  await rename(`${path}.part`, path);
}
