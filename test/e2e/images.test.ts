import { execa } from 'execa';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { operatorImages } from '#lab/operator-images.ts';

/** The images as users get them. Sizes are those of unpacked files, in bytes. */
const MOST_BYTES = { operator: 150_000_000, runner: 350_000_000 } as const;
const SBOMS = { operator: 'matryoshka.cdx.json', runner: 'ansibleinit.cdx.json' } as const;
const PACKAGES = { operator: 'pkg:npm/fastify', runner: 'pkg:npm/%40aws-sdk/client-s3' } as const;

const inspected = z.array(z.object({ Size: z.int(), Config: z.object({ User: z.string() }) })).length(1);
const sbomSchema = z.object({
  bomFormat: z.literal('CycloneDX'),
  components: z.array(z.object({ purl: z.string() })),
});

let images: Record<keyof typeof MOST_BYTES, string>;
const docker = (...args: string[]) => execa('docker', args, { stdin: 'ignore', reject: false });

/** Returns the content of a file of an image, which need not have a shell. */
async function fileOf(image: string, path: string): Promise<string> {
  const { stdout: id } = await docker('create', image);
  try {
    const { stdout } = await execa('docker', ['cp', `${id}:${path}`, '-'], { stdin: 'ignore' }).pipe('tar', [
      '-xO',
    ]);
    return stdout;
  } finally {
    await docker('rm', id);
  }
}

beforeAll(async () => {
  images = await operatorImages(() => {});
});

describe.each(['operator', 'runner'] as const)('the image of the %s', (name) => {
  it('is small, and does not run as root', async () => {
    const { stdout } = await docker('image', 'inspect', images[name]);
    const [image] = inspected.parse(JSON.parse(stdout));
    expect(image?.Config.User).toBe('10001:10001');
    expect(image?.Size).toBeLessThan(MOST_BYTES[name]);
  });

  it('says what it is made of', async () => {
    const { components } = sbomSchema.parse(
      JSON.parse(await fileOf(images[name], `/usr/share/sbom/${SBOMS[name]}`)),
    );
    const purls = components.map(({ purl }) => purl.replace(/@[^@]*$/, ''));
    expect(purls).toEqual(expect.arrayContaining(['pkg:npm/node', 'pkg:npm/zod', PACKAGES[name]]));
  });
});

it('names its distribution and packages, for scanners', async () => {
  expect(await fileOf(images.operator, '/etc/os-release')).toContain('ID=debian');
  expect(await fileOf(images.operator, '/var/lib/dpkg/status.d/haproxy')).toMatch(/^Package: haproxy$/m);
});

it('has every library of its programs, and no shell', async () => {
  const { operator } = images;
  expect(await docker('run', '--rm', operator, '--help')).toMatchObject({ exitCode: 0 });
  // As the proxy of Ingresses starts it.
  const started = ['--entrypoint', 'setpriv', operator, '--pdeathsig=TERM', 'haproxy', '-v'];
  const haproxy = await docker('run', '--rm', ...started);
  expect(haproxy).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('HAProxy version') });
  expect(await docker('run', '--rm', '--entrypoint', '/bin/sh', operator, '-c', 'true')).toMatchObject({
    exitCode: 127,
  });
});
