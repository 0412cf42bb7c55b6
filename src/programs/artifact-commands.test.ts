import { createHash } from 'node:crypto';
import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { formatSums } from '#artifacts/catalogue.ts';
import { layout } from '#artifacts/layout.ts';
import { releases } from '#artifacts/releases.ts';
import { artifactServer } from '#artifacts/serve.ts';
import { checkArtifacts, listArtifacts, pullArtifacts } from './artifact-commands.ts';

const [release] = releases;
const KUBELET = layout(release).find(({ name }) => name === 'kubelet')?.path ?? '';
const COREDNS = layout(release).find(({ name }) => name === 'coredns')?.path ?? '';
let base = '';
let root = '';
let url = '';
let app: ReturnType<typeof artifactServer>;

/** Prepares a mirror that has everything except the image of CoreDNS. */
beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'artifacts-'));
  root = join(base, 'mirror');
  const sums = new Map<string, string>();
  for (const { path } of layout(release)) {
    if (path === COREDNS) continue;
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), `content of ${path}`);
    sums.set(path, createHash('sha256').update(`content of ${path}`).digest('hex'));
  }
  await writeFile(join(root, 'SHA256SUMS'), formatSums(sums));
  app = artifactServer(root);
  url = await app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await app.close();
  await rm(base, { recursive: true, force: true });
});

async function said<T>(act: (print: (line: string) => void) => T): Promise<[Awaited<T>, string]> {
  const lines: string[] = [];
  return [await act((line) => lines.push(line)), lines.join('\n')];
}

it('lists every file of a release', async () => {
  const [, text] = await said((print) => listArtifacts({}, print));
  expect(text.split('\n')).toHaveLength(layout(release).length + 1);
  expect(text).toContain(KUBELET);
});

it('pulls a mirror into a complete directory, and lists images that only registries have', async () => {
  const to = join(base, 'pulled');
  const [, text] = await said((print) => pullArtifacts({ from: url, to }, print));
  expect(await readFile(join(to, KUBELET), 'utf8')).toBe(`content of ${KUBELET}`);
  expect(text).toMatch(/docker pull registry\.k8s\.io\/coredns\/coredns:/);
  const [whole, findings] = await said((print) => checkArtifacts({ source: to }, print));
  expect(whole).toBe(true);
  expect(findings).toContain(`absent\t${COREDNS}`);
});

it('keeps files that a user added to the list when it pulls again', async () => {
  const to = join(base, 'added');
  await said((print) => pullArtifacts({ from: url, to }, print));
  await mkdir(dirname(join(to, COREDNS)), { recursive: true });
  await writeFile(join(to, COREDNS), 'saved');
  const sum = createHash('sha256').update('saved').digest('hex');
  await appendFile(join(to, 'SHA256SUMS'), `${sum}  ${COREDNS}\n`);
  await said((print) => pullArtifacts({ from: url, to }, print));
  const [, findings] = await said((print) => checkArtifacts({ source: to }, print));
  expect(findings).toContain(`fine\t${COREDNS}`);
});

it('keeps the list if a new one cannot be written', async () => {
  const to = join(base, 'full');
  await said((print) => pullArtifacts({ from: url, to }, print));
  await appendFile(join(to, 'SHA256SUMS'), `${'a'.repeat(64)}  ${COREDNS}\n`);
  const before = await readFile(join(to, 'SHA256SUMS'), 'utf8');
  // A directory in this place makes the write fail, as on a full disk.
  await mkdir(join(to, 'SHA256SUMS.part'));
  await expect(said((print) => pullArtifacts({ from: url, to }, print))).rejects.toThrow(/EISDIR/);
  expect(await readFile(join(to, 'SHA256SUMS'), 'utf8')).toBe(before);
});

it('finds damaged and missing files, in a directory and in a mirror', async () => {
  const to = join(base, 'damaged');
  await said((print) => pullArtifacts({ from: url, to }, print));
  await writeFile(join(to, KUBELET), 'something else');
  const [other = { path: '' }] = layout(release).filter(({ name }) => name === 'runc');
  await rm(join(to, other.path));
  const server = artifactServer(to);
  const sources = [to, await server.listen({ host: '127.0.0.1', port: 0 })];
  for (const source of sources) {
    const [whole, text] = await said((print) => checkArtifacts({ source }, print));
    expect(whole).toBe(false);
    expect(text).toContain(`wrong\t${KUBELET}\tit has the sum `);
    expect(text).toContain(`missing\t${other.path}\t`);
    expect(text).toContain('2 of ');
  }
  await server.close();
});

it.each<[string, () => Promise<unknown>, RegExp]>([
  [
    'a version that is not offered',
    () => said((print) => listArtifacts({ kubeVersion: 'v1.2.3' }, print)),
    /--kube-version: v1\.2\.3 is not offered; choose of v/,
  ],
  [
    'a directory without a list',
    () => said((print) => checkArtifacts({ source: join(base, 'none') }, print)),
    /SHA256SUMS cannot be read/,
  ],
  [
    'upstream, which has no list',
    () => said((print) => checkArtifacts({ source: 'upstream' }, print)),
    /--source: is a mirror or a directory/,
  ],
  [
    'a directory to pull from',
    () => said((print) => pullArtifacts({ from: root, to: base }, print)),
    /--from: is a directory already/,
  ],
])('refuses %s', async (_, act, says) => {
  await expect(act()).rejects.toThrow(says);
});
