import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { hostFolder } from './role-script.fixture.ts';

/** A control plane gets keys that it has lost from another one. A directory represents each. */
const ansible = join(import.meta.dirname, '../..', 'ansible');
const read = (path: string) => readFileSync(join(ansible, path), 'utf8');
const LIBRARIES = ['seal', 'etcd-data', 'put'].map((name) => read(`roles/repair/files/${name}.sh`));
const SHARED = ['ca.key', 'ca.crt', 'etcd/ca.key', 'sa.key', 'sa.pub', 'matryoshka/encryption.yaml'];
const sumOf = (text: string) => createHash('sha256').update(text).digest('hex');

let hosts: [string, string];
beforeEach(async () => {
  hosts = [await hostFolder(), await hostFolder()];
  for (const root of hosts) {
    const owner = `${process.getuid?.()}:${process.getgid?.()}`;
    const sealed: string[] = [];
    for (const file of SHARED) {
      await mkdir(join(pki(root), file, '..'), { recursive: true });
      await writeFile(join(pki(root), file), `${file} of the cluster\n`);
      const state = ['file', `/etc/kubernetes/pki/${file}`, 'f', '640', owner, '1', '1', '1', '1', 'to '];
      sealed.push([...state, sumOf(`${file} of the cluster\n`)].join('\t'));
    }
    await writeFile(join(root, 'etc/matryoshka/seal'), `${sealed.join('\n')}\nend\n`);
  }
});
afterEach(() => Promise.all(hosts.map((root) => rm(root, { recursive: true }))));
const pki = (root: string) => join(root, 'etc/kubernetes/pki');
const lose = (...files: string[]) => Promise.all(files.map((file) => rm(join(pki(hosts[0]), file))));

/** Runs a script on a control plane, and returns its results and its output. */
async function run(root: string, script: string, vars: Record<string, string> = {}) {
  const text = `${read('files/prelude.sh')}\n${LIBRARIES.join('\n')}\nsync() { :; }; ROLE=repair\n${read(`roles/repair/files/${script}.sh`)}`;
  const env = { MATRYOSHKA_ROOT: root, ETCD_HERE: 'yes', ...vars };
  const { exitCode, stdout, stderr } = await execa('/bin/bash', ['--norc', '-uc', text], {
    env,
    reject: false,
  });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return {
    said: stdout,
    results: new Map(
      [...stdout.matchAll(/^result: (\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
    ),
  };
}

/** Lets the second control plane give what the first one has lost, as the role does. */
async function broughtBack(): Promise<string> {
  const lost = (await run(hosts[0], 'lost')).results.get('lost') ?? '';
  const { results } = await run(hosts[1], 'give', { LOST: lost });
  const given = lost.split(' ').map((file) => `${file} ${results.get(file.replaceAll(/[/.-]/g, '_')) ?? ''}`);
  return (await run(hosts[0], 'take', { GIVEN: `${given.join('\n')}\n` })).said;
}

it('brings back lost keys, with the mode of the baseline, and notes what must restart', async () => {
  await lose('ca.key', 'etcd/ca.key', 'sa.pub', 'matryoshka/encryption.yaml');
  await broughtBack();
  for (const file of SHARED)
    expect(await readFile(join(pki(hosts[0]), file), 'utf8')).toBe(`${file} of the cluster\n`);
  expect((await stat(join(pki(hosts[0]), 'ca.key'))).mode & 0o777).toBe(0o640);
  expect(await readFile(join(hosts[0], 'var/lib/matryoshka/repair'), 'utf8')).toContain('pod kube-apiserver');
});

it('does not take a key that this host never had', async () => {
  await lose('ca.key');
  await writeFile(join(pki(hosts[1]), 'ca.key'), 'of another cluster\n');
  expect(await broughtBack()).toContain('ca.key of the other control plane is not what this host had');
  expect(existsSync(join(pki(hosts[0]), 'ca.key'))).toBe(false);
});

it('leaves keys that are there, and asks for nothing if none is lost', async () => {
  expect((await run(hosts[0], 'lost')).results.get('lost')).toBeUndefined();
  await run(hosts[0], 'take', { GIVEN: `ca.key ${Buffer.from('other').toString('base64')}\n` });
  expect(await readFile(join(pki(hosts[0]), 'ca.key'), 'utf8')).toBe('ca.key of the cluster\n');
});
