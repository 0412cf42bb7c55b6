import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { announced, type Say } from '../artifacts/progress.ts';
import { stampOf } from '../artifacts/stamp.ts';
import { docker, dockerOrUndefined } from './docker.ts';
import { ensurePackages } from './packages.ts';

const BUILD_TIMEOUT_MS = 15 * 60_000;
const PULL_TIMEOUT_MS = 120_000;
const STAMP_LABEL = 'matryoshka.stamp';

export interface BuildOptions {
  /** Default: `Dockerfile` in the context. */
  readonly dockerfile?: string;
  readonly args?: Readonly<Record<string, string>>;
}

/** Builds an image from a folder, unless one with the same content exists. Returns its tag. */
export async function buildImage(
  tag: string,
  context: string,
  say: Say,
  { dockerfile = join(context, 'Dockerfile'), args = {} }: BuildOptions = {},
): Promise<string> {
  const text = await readFile(dockerfile, 'utf8');
  const stamp = await stampOf([text, args], [context]);
  const label = `{{index .Config.Labels "${STAMP_LABEL}"}}`;
  if ((await dockerOrUndefined(['image', 'inspect', '--format', label, tag])) === stamp) return tag;
  for (const [, base] of text.matchAll(/^FROM (\S+)/gm)) {
    if (base !== undefined && base !== 'scratch') await ensureBase(base, say);
  }
  const buildArgs = Object.entries(args).flatMap(([key, value]) => ['--build-arg', `${key}=${value}`]);
  await announced(say, `docker build ${tag}`, () =>
    docker(
      // The build uses the machine's network, which may have its own path to package registries.
      [
        'build',
        '-q',
        '--network=host',
        '-t',
        tag,
        '-f',
        dockerfile,
        '--label',
        `${STAMP_LABEL}=${stamp}`,
        ...buildArgs,
        context,
      ],
      BUILD_TIMEOUT_MS,
    ),
  );
  return tag;
}

/** Paths that Debian's slim images omit, also of later packages. Source: debuerreotype, slimify-excludes. */
const SLIM = [
  ...['doc', 'groff', 'info', 'lintian', 'locale', 'man'].map((name) => `path-exclude=/usr/share/${name}/*`),
  'path-include=/usr/share/doc/*/copyright',
].map((option) => `--dpkgopt=${option}`);

const bases = new Map<string, Promise<void>>();

/** Makes sure of a base image, once for all concurrent builds. */
function ensureBase(base: string, say: Say): Promise<void> {
  const made = bases.get(base) ?? makeBase(base, say).finally(() => bases.delete(base));
  bases.set(base, made);
  return made;
}

/** Pulls a base image. If no registry answers, Debian's are built from packages. */
async function makeBase(base: string, say: Say): Promise<void> {
  if ((await dockerOrUndefined(['image', 'inspect', base])) !== undefined) return;
  const suite = /^debian:(\w+)-slim$/.exec(base)?.[1];
  await announced(say, `base image ${base}`, async () => {
    if ((await dockerOrUndefined(['pull', '-q', base], PULL_TIMEOUT_MS).catch(() => undefined)) !== undefined)
      return;
    if (suite === undefined) throw new Error(`cannot pull ${base}, and it is not Debian's`);
    await ensurePackages({ mmdebstrap: 'mmdebstrap' }, say);
    const work = await mkdtemp(join(tmpdir(), 'matryoshka-base-'));
    try {
      const tar = join(work, 'base.tar');
      // Without a mirror in the settings, it is the distribution's own.
      await execa('mmdebstrap', ['--variant=minbase', '--include=ca-certificates', ...SLIM, suite, tar], {
        timeout: BUILD_TIMEOUT_MS,
        stdin: 'ignore',
      });
      await docker(['import', '-c', 'CMD ["/bin/bash"]', tar, base], BUILD_TIMEOUT_MS);
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  });
}
