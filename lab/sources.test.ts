import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const ansible = join(import.meta.dirname, '..', 'ansible');

/** Directory that represents a host. */
let root = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'sources-'));
  await mkdir(join(root, 'etc/matryoshka'), { recursive: true });
  await mkdir(join(root, 'var/lib/matryoshka'), { recursive: true });
  await writeFile(join(root, 'etc/matryoshka/made'), 'cluster mine\n');
});
afterEach(() => rm(root, { recursive: true }));

const at = (path: string) => readFile(join(root, path), 'utf8');
const registries = async () => (await readdir(join(root, 'etc/containerd/certs.d'))).sort();
async function sources(variables: Record<string, string>) {
  const read = (path: string) => readFile(join(ansible, path), 'utf8');
  const text = `${await read('files/prelude.sh')}\nROLE=runtime\n${await read('roles/runtime/files/sources.sh')}`;
  const env = {
    MATRYOSHKA_ROOT: root,
    MIRROR: 'http://meta:32080',
    MIRRORED: 'registry.k8s.io docker.io',
    REGISTRY_MIRRORS: '',
    HTTP_PROXY_URL: '',
    HTTPS_PROXY_URL: '',
    NO_PROXY_LIST: '',
    ...variables,
  };
  const { stdout } = await execa('/bin/bash', ['--norc', '-s'], {
    input: `main() {\n${text}\n}\nmain </dev/null\n`,
    env,
  });
  return stdout;
}
const ours = '[host."http://meta:32080"]\n  capabilities = ["pull", "resolve"]\n';

describe('the registry configuration of containerd', () => {
  it('lists the mirror of the site first, then those of the user in their order', async () => {
    const mirrors =
      'docker.io https://a.example.com https://h.example.com/v2/hub\nghcr.io:5000 http://b:5000\n';
    await sources({ REGISTRY_MIRRORS: mirrors });
    expect(await registries()).toEqual(['docker.io', 'ghcr.io:5000', 'registry.k8s.io']);
    expect(await at('etc/containerd/certs.d/registry.k8s.io/hosts.toml')).toBe(ours);
    expect(await at('etc/containerd/certs.d/docker.io/hosts.toml')).toBe(
      `${ours}[host."https://a.example.com"]\n  capabilities = ["pull", "resolve"]\n` +
        '[host."https://h.example.com/v2/hub"]\n  capabilities = ["pull", "resolve"]\n  override_path = true\n',
    );
    expect(await at('etc/containerd/certs.d/ghcr.io:5000/hosts.toml')).not.toContain('meta');
    expect(await at('etc/matryoshka/made')).toContain(
      'runtime file /etc/containerd/certs.d/ghcr.io:5000/hosts.toml',
    );
    expect(await sources({ REGISTRY_MIRRORS: mirrors })).toBe('');
  });

  it('drops registries that the last run does not name, and keeps a file of the user', async () => {
    await sources({ REGISTRY_MIRRORS: 'ghcr.io http://b:5000\n' });
    await mkdir(join(root, 'etc/containerd/certs.d/theirs'));
    await writeFile(join(root, 'etc/containerd/certs.d/theirs/hosts.toml'), 'theirs');
    await sources({ MIRRORED: '', MIRROR: '' });
    await expect(at('etc/containerd/certs.d/ghcr.io/hosts.toml')).rejects.toThrow('ENOENT');
    await expect(at('etc/containerd/certs.d/docker.io/hosts.toml')).rejects.toThrow('ENOENT');
    expect(await at('etc/containerd/certs.d/theirs/hosts.toml')).toBe('theirs');
  });

  it('sets the proxy of containerd, and removes it when none is configured', async () => {
    const file = 'etc/systemd/system/containerd.service.d/matryoshka-proxy.conf';
    await sources({ HTTPS_PROXY_URL: 'http://p:3128', NO_PROXY_LIST: 'localhost,10.0.0.0/8' });
    expect(await at(file)).toBe(
      '[Service]\nEnvironment="HTTP_PROXY=" "HTTPS_PROXY=http://p:3128"\nEnvironment="NO_PROXY=localhost,10.0.0.0/8"\n',
    );
    expect(await at('etc/matryoshka/made')).toContain(`runtime file /${file}`);
    await sources({});
    await expect(at(file)).rejects.toThrow('ENOENT');
  });
});
