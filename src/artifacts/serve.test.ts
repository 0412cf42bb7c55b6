import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatSums } from './catalogue.ts';
import { layout } from './layout.ts';
import { releases } from './releases.ts';
import { artifactServer } from './serve.ts';
import { artifactsOf, materialise, parseSource } from './source.ts';

const [release] = releases;
let base = '';
let root = '';
let url = '';
let app: ReturnType<typeof artifactServer>;

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'artifacts-'));
  root = join(base, 'root');
  const sums = new Map<string, string>();
  for (const { path } of layout(release)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), `content of ${path}`);
    sums.set(path, createHash('sha256').update(`content of ${path}`).digest('hex'));
  }
  await writeFile(join(root, 'SHA256SUMS'), formatSums(sums));
  await writeFile(join(root, '.made.json'), 'hidden');
  await writeFile(join(base, 'secret'), 'outside');
  app = artifactServer(root);
  url = await app.listen({ host: '127.0.0.1', port: 0 });
});

afterAll(async () => {
  await app.close();
  await rm(base, { recursive: true, force: true });
});

/** Sends a request without the client's normalization of paths. */
const raw = (
  method: string,
  path: string,
  headers = {},
): Promise<{ status: number; body: string; length?: string }> =>
  new Promise((resolve, reject) => {
    const ask = request(url, { method, path, headers }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk) => {
        body += chunk;
      });
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          body,
          ...(response.headers['content-length'] && { length: response.headers['content-length'] }),
        }),
      );
    });
    ask.once('error', reject);
    ask.end();
  });

describe('the artifact server', () => {
  const file = `/${layout(release)[0]?.path}`;
  it('answers GET, HEAD and ranges', async () => {
    expect((await raw('GET', file)).body).toBe(`content of ${file.slice(1)}`);
    const head = await raw('HEAD', file);
    expect([head.status, head.body, head.length]).toEqual([
      200,
      '',
      String(`content of ${file.slice(1)}`.length),
    ]);
    expect(await raw('GET', file, { range: 'bytes=0-6' })).toMatchObject({ status: 206, body: 'content' });
    expect((await raw('GET', file, { range: 'bytes=9999-' })).status).toBe(416);
    expect((await raw('GET', `${file}?from=a-cache`)).status).toBe(200);
    expect(await raw('GET', '/not-there')).toMatchObject({ status: 404, body: 'not found\n' });
  });
  it.each([
    ['a dotfile', 'GET', '/.made.json'],
    ['the root', 'GET', '/'],
    ['a folder', 'GET', '/dl.k8s.io/'],
    ['a way out', 'GET', '/../secret'],
    ['an encoded way out', 'GET', '/..%2fsecret'],
    ['a way out behind a folder', 'GET', '/dl.k8s.io/%2e%2e/%2e%2e/secret'],
    ['a write', 'PUT', '/dl.k8s.io/new'],
  ])('refuses %s', async (_what, method, path) => {
    const { status, body } = await raw(method, path);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(body).not.toMatch(/outside|hidden/);
  });
});

describe('a source of artifacts', () => {
  it('is upstream, a URL or an absolute path', () => {
    expect(parseSource('upstream')).toEqual({ kind: 'upstream' });
    expect(parseSource('https://mirror.example/k/')).toEqual({
      kind: 'mirror',
      url: 'https://mirror.example/k',
    });
    expect(parseSource('/srv/artifacts')).toEqual({ kind: 'directory', path: '/srv/artifacts' });
    expect(() => parseSource('srv')).toThrow('absolute path');
  });
  it('is copied from a mirror once, with sums checked', async () => {
    const dir = join(base, 'copy');
    const said: string[] = [];
    const source = parseSource(url);
    await materialise(source, release, dir, (line) => said.push(line));
    expect(said).toHaveLength(layout(release).length);
    await materialise(source, release, dir, (line) => said.push(line));
    expect(said).toHaveLength(layout(release).length);
    expect(await readFile(join(dir, 'SHA256SUMS'), 'utf8')).toBe(
      await readFile(join(root, 'SHA256SUMS'), 'utf8'),
    );
    expect(await artifactsOf(parseSource(dir), release)).toEqual(await artifactsOf(source, release));
  });
  it('is not copied if the sum of a file differs', async () => {
    const [kubeadm] = layout(release);
    if (kubeadm === undefined) throw new Error('an empty layout');
    const dir = join(base, 'damaged');
    await writeFile(join(root, kubeadm.path), 'changed');
    await expect(materialise(parseSource(url), release, dir)).rejects.toThrow(/kubeadm has the sum/);
    await expect(readFile(join(dir, kubeadm.path))).rejects.toThrow('ENOENT');
    await expect(materialise(parseSource(root), release, dir)).rejects.toThrow('does not have its sum');
  });
});
