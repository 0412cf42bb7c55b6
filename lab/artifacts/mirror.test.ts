import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { layout } from '#artifacts/layout.ts';
import { releases } from '#artifacts/releases.ts';
import { downloadFrom, releasedFiles } from './mirror.ts';

const pinOf = (content: string) => ({
  stamp: 'any',
  sha256: createHash('sha256').update(content).digest('hex'),
  bytes: content.length,
});

let directory: string;
let server: Server;
let url: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'mirror-'));
  server = createServer(({ url: path }, response) => {
    if (path === '/k8s/kubelet') return void response.end('kubelet');
    if (path === '/k8s/kubeadm') return void response.end('another kubeadm');
    response.writeHead(404).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/k8s/`;
});
afterAll(async () => {
  server.close();
  await rm(directory, { recursive: true, force: true });
});

it('takes pinned files from a mirror, and names those that it has to build', async () => {
  const said: string[] = [];
  const wanted = ['kubelet', 'kubeadm', 'etcd.tar'].map((name) => [name, pinOf(name)] as const);
  const arrived = await downloadFrom(url, wanted, directory, (line) => said.push(line));
  expect(arrived).toEqual([['kubelet', pinOf('kubelet')]]);
  expect(await readFile(join(directory, 'kubelet'), 'utf8')).toBe('kubelet');
  expect((await stat(join(directory, 'kubelet'))).mode & 0o777).toBe(0o755);
  await expect(readFile(join(directory, 'kubeadm'))).rejects.toThrow('ENOENT');
  expect(said.sort()).toEqual([
    `etcd.tar is built instead: ${url}etcd.tar: 404 Not Found`,
    expect.stringMatching(/^kubeadm is built instead: .*kubeadm has the sum [0-9a-f]{64}, wanted /),
  ]);
});

it('pins files of releases only', () => {
  const paths = new Set(releases.flatMap((release) => layout(release)).map(({ path }) => path));
  expect(Object.keys(releasedFiles).filter((path) => !paths.has(path))).toEqual([]);
});

it('pins what each machine builds, wherever its cache is (else: node lab/main.ts artifacts --pin)', async () => {
  vi.stubEnv('XDG_CACHE_HOME', '/elsewhere');
  vi.resetModules();
  const { recipeFor } = await import('./recipes.ts');
  const entries = releases.flatMap((release) => layout(release));
  const stamps = Object.keys(releasedFiles).map(async (path) => {
    const entry = entries.find((one) => one.path === path);
    return [path, entry && (await recipeFor(entry).stamp())] as const;
  });
  const pinned = Object.entries(releasedFiles).map(([path, { stamp }]) => [path, stamp]);
  expect(await Promise.all(stamps)).toEqual(pinned);
});
