import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hostFolder, runRoleScript } from './role-script.fixture.ts';

/** The script that restores the names of the API servers in /etc/hosts when a host starts. */
const HOSTS = 'etc/hosts';
const OURS = '10.0.0.1 api.demo # matryoshka c1\n10.0.0.2 api.demo # matryoshka c1\n';
const CLOUD = '127.0.0.1 localhost\n';
let root: string;
const at = (path: string) => join(root, path);
const text = (path: string) => readFile(at(path), 'latin1');
async function put(path: string, content: string | Buffer) {
  await mkdir(dirname(at(path)), { recursive: true });
  await writeFile(at(path), content);
}

/** Installs the script as a task does. Substitutes for systemd's programs only record their calls. */
const make = (addresses = '10.0.0.1 10.0.0.2') =>
  runRoleScript(root, {
    role: 'host',
    script: 'keep-endpoint.sh',
    env: {
      ENDPOINT_ADDRESSES: addresses,
      ENDPOINT_NAME: 'api.demo',
      CLUSTER_ID: 'c1',
      PATH: `${at('bin')}:${process.env['PATH']}`,
    },
  });
/** Runs the script as a start of the host does. */
const start = () =>
  execa(at('usr/local/sbin/matryoshka-endpoint'), { env: { MATRYOSHKA_ROOT: root }, reject: false });

beforeEach(async () => {
  root = await hostFolder();
  await put('bin/systemctl', '#!/bin/sh\necho "systemctl $*"\n');
  await execa('chmod', ['755', at('bin/systemctl')]);
  await put(HOSTS, CLOUD + OURS);
});
afterEach(() => rm(root, { recursive: true }));

describe('the API server names in /etc/hosts', () => {
  it('are restored below all other lines, which stay unchanged byte by byte', async () => {
    expect(await make()).toMatchObject({ exitCode: 0, stderr: '' });
    const theirs = Buffer.concat([
      Buffer.from(CLOUD),
      Buffer.from([0x23, 0xff, 0xe9]),
      Buffer.from('\n::1 six'),
    ]);
    await put(HOSTS, theirs);
    expect(await start()).toMatchObject({ exitCode: 0 });
    expect(await text(HOSTS)).toBe(`${theirs.toString('latin1')}\n${OURS}`);
    const { ino } = await stat(at(HOSTS));
    expect(await start()).toMatchObject({ exitCode: 0, stdout: '' });
    expect((await stat(at(HOSTS))).ino).toBe(ino);
  });

  it('are restored in place in the copies of host-network pods only', async () => {
    await make();
    const [ofHost, ofPod] = ['h', 'p'].map((pod) => `var/lib/kubelet/pods/${pod}/etc-hosts`);
    await put(ofHost ?? '', `# Kubernetes-managed hosts file (host network).\n${CLOUD}`);
    await put(ofPod ?? '', `# Kubernetes-managed hosts file.\n${CLOUD}`);
    const { ino } = await stat(at(ofHost ?? ''));
    await start();
    expect(await text(ofHost ?? '')).toContain(OURS);
    expect((await stat(at(ofHost ?? ''))).ino).toBe(ino);
    expect(await text(ofPod ?? '')).not.toContain('api.demo');
  });

  it('follow a change of API servers', async () => {
    await make();
    await make('127.0.0.1');
    await put(HOSTS, CLOUD);
    await start();
    expect(await text(HOSTS)).toBe(`${CLOUD}127.0.0.1 api.demo # matryoshka c1\n`);
  });

  it('are restored before the kubelet starts and after cloud-init', async () => {
    await make();
    const unit = await text('etc/systemd/system/matryoshka-endpoint.service');
    expect(unit).toMatch(/^Before=.*\bkubelet\.service\b/m);
    expect(unit).toMatch(/^After=.*\bcloud-init\.service\b/m);
    const enabled = 'etc/systemd/system/multi-user.target.wants/matryoshka-endpoint.service';
    expect(await text('etc/matryoshka/made')).toContain('host unit matryoshka-endpoint.service');
    await expect(execa('readlink', [at(enabled)])).resolves.toMatchObject({ exitCode: 0 });
  });

  it('need no unit if the name resolves by itself', async () => {
    expect(await make('')).toMatchObject({ exitCode: 0, stdout: '' });
    expect(await text('etc/matryoshka/made')).toBe('cluster mine\n');
  });
});
