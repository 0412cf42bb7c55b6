import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { artifactServer } from '../serve.ts';

const sha = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');
let root = '';
let app: ReturnType<typeof artifactServer>;

/** Writes an archive like `docker save`: one plain layer, one compressed, one that is a link to the first. */
async function archive(path: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'archive-'));
  const compressed = gzipSync('second');
  const config = JSON.stringify({
    rootfs: { diff_ids: [sha('first'), sha('second'), sha('first')].map((id) => `sha256:${id}`) },
  });
  const long = `${'x'.repeat(90)}/${'y'.repeat(60)}/layer.tar`;
  for (const folder of ['one', 'three', dirname(long)]) await mkdir(join(work, folder), { recursive: true });
  await writeFile(join(work, 'one/layer.tar'), 'first');
  await writeFile(join(work, long), compressed);
  await symlink('../one/layer.tar', join(work, 'three/layer.tar'));
  await writeFile(join(work, 'config.json'), config);
  await writeFile(
    join(work, 'manifest.json'),
    JSON.stringify([
      { Config: 'config.json', RepoTags: ['x:y'], Layers: ['one/layer.tar', long, 'three/layer.tar'] },
    ]),
  );
  await mkdir(dirname(path), { recursive: true });
  await execa('tar', ['-C', work, '-cf', path, '.']);
  await rm(work, { recursive: true });
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'registry-'));
  await archive(join(root, 'images/registry.k8s.io/pause_3.10.1.tar'));
  await archive(join(root, 'images/docker.io/matryoshka/runner_abc.tar'));
  await archive(join(root, 'dl.k8s.io/release/v1.34.4/bin/linux/amd64/kube-proxy.tar'));
  await writeFile(join(root, 'images/registry.k8s.io/broken_1.tar'), 'no archive');
  app = artifactServer(root);
});
afterAll(async () => {
  await app.close();
  await rm(root, { recursive: true });
});

const get = (url: string, method: 'GET' | 'HEAD' = 'GET') => app.inject({ method, url });
const manifestSchema = z.object({
  config: z.object({ digest: z.string(), size: z.number() }),
  layers: z.array(z.object({ mediaType: z.string(), digest: z.string(), size: z.number() })),
});

describe('the artifact registry', () => {
  it.each([
    '/v2/pause/manifests/3.10.1?ns=registry.k8s.io',
    '/v2/kube-proxy/manifests/v1.34.4?ns=registry.k8s.io',
    '/v2/matryoshka/runner/manifests/abc?ns=docker.io',
  ])('serves %s with all its blobs', async (url) => {
    const answer = await get(url);
    expect(answer.statusCode).toBe(200);
    const digest = `sha256:${sha(answer.rawPayload)}`;
    expect(answer.headers['docker-content-digest']).toBe(digest);
    const manifest = manifestSchema.parse(answer.json());
    expect(manifest.layers.map(({ mediaType }) => mediaType.split('.').at(-1))).toEqual([
      'tar',
      'tar+gzip',
      'tar',
    ]);
    const blobs = url.replace(/manifests\/[^?]+/, 'blobs/');
    for (const { digest: blob, size } of [manifest.config, ...manifest.layers]) {
      const one = await get(blobs.replace('blobs/', `blobs/${blob}`));
      expect([one.statusCode, one.rawPayload.length, `sha256:${sha(one.rawPayload)}`]).toEqual([
        200,
        size,
        blob,
      ]);
    }
    const again = await get(url.replace(/manifests\/[^?]+/, `manifests/${digest}`));
    expect(again.payload).toBe(answer.payload);
    const head = await get(url, 'HEAD');
    expect([head.statusCode, head.headers['content-length'], head.payload]).toEqual([
      200,
      String(answer.rawPayload.length),
      '',
    ]);
  });

  it.each([
    '/v2/pause/manifests/3.10.1',
    '/v2/pause/manifests/latest?ns=registry.k8s.io',
    '/v2/pause/manifests/3.10.1?ns=../registry.k8s.io',
    '/v2/../../secret/manifests/x?ns=registry.k8s.io',
    '/v2/pause/blobs/sha256:00?ns=registry.k8s.io',
    '/v2/_catalog',
    '/v2/pause/tags/list?ns=registry.k8s.io',
  ])('returns 404 for %s', async (url) => {
    expect((await get(url)).statusCode).toBe(404);
  });

  it('accepts no uploads, and hides why an archive cannot be read', async () => {
    expect((await app.inject({ method: 'POST', url: '/v2/pause/blobs/uploads/' })).statusCode).toBe(404);
    const broken = await get('/v2/broken/manifests/1?ns=registry.k8s.io');
    expect([broken.statusCode, broken.payload]).toEqual([500, 'cannot be read\n']);
    expect((await get('/v2/')).statusCode).toBe(200);
  });
});
