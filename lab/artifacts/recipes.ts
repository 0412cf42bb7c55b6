import { chmod, copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import type { Entry } from '#artifacts/layout.ts';
import { binariesStamp, ensureBinaries } from './binaries.ts';
import { type ComponentName, components } from './components.ts';
import { debianLayer, layerStamp } from './debian-layer.ts';
import { ENVIRONMENT, writeImage } from './image.ts';
import { modulesDir } from './places.ts';
import type { Say } from './progress.ts';
import { stampOf } from './stamp.ts';
import { packTar } from './tar.ts';

/** Recipe of one file of the layout. */
export interface Recipe {
  /** Returns a stamp of the inputs. If it is equal, the existing file stays. */
  stamp(): Promise<string>;
  make(out: string, say: Say): Promise<void>;
}

/** Returns the recipe of a layout's entry. */
export function recipeFor(entry: Entry): Recipe {
  const { name, image } = entry;
  switch (name) {
    case 'kubeadm':
    case 'kubelet':
    case 'kubectl':
      return plain(kubernetesOf(entry), name);
    case 'runc':
      return plain('runc', 'runc');
    case 'containerd':
      return bundle('containerd', (binary) => `bin/${binary}`);
    case 'cni-plugins':
      return bundle('cni', (binary) => binary);
    case 'flannel-cni-plugin':
      return bundle('flannel-cni', (binary) => `${binary}-amd64`);
    case 'kube-apiserver':
    case 'kube-controller-manager':
    case 'kube-scheduler':
    case 'kube-proxy':
      // Upstream's own archives have the architecture in the tag.
      return container(
        tagOf(entry).replace(name, `${name}-amd64`),
        kubernetesOf(entry),
        {
          [`/usr/local/bin/${name}`]: name,
        },
        name === 'kube-proxy' ? 'tools' : 'bare',
        [`/usr/local/bin/${name}`],
      );
    case 'etcd':
      return container(
        tagOf(entry),
        'etcd',
        {
          '/usr/local/bin/etcd': 'etcd',
          '/usr/local/bin/etcdctl': 'etcdctl',
          '/usr/local/bin/etcdutl': 'etcdutl',
        },
        'bare',
        ['/usr/local/bin/etcd'],
      );
    case 'coredns':
      return container(tagOf(entry), 'coredns', { '/coredns': 'coredns' }, 'bare', ['/coredns']);
    case 'flannel':
      return container(tagOf(entry), 'flannel', { '/opt/bin/flanneld': 'flanneld' }, 'tools', [
        '/opt/bin/flanneld',
      ]);
    case 'kube-router':
      return container(
        tagOf(entry),
        'kube-router',
        { '/usr/local/bin/kube-router': 'kube-router' },
        'tools',
        ['/usr/local/bin/kube-router'],
      );
    case 'balancer':
      return haproxy(tagOf(entry));
    case 'pause':
      return pause(tagOf(entry));
    default:
      throw new Error(`no recipe for ${name}${image === undefined ? '' : ` (${image})`}`);
  }
}

const KUBERNETES = ['kubernetes', 'kubernetes-later', 'kubernetes-newest'] as const;

/** Returns the component that has the Kubernetes version in the path of a file. */
function kubernetesOf({ path }: Entry): ComponentName {
  const [, version] = /\/release\/(v[^/]+)\//.exec(path) ?? [];
  const found = KUBERNETES.find((name) => components[name].version === version);
  if (!found) throw new Error(`no component for Kubernetes ${version} (${path})`);
  return found;
}

function tagOf({ name, image }: Entry): string {
  if (image === undefined) throw new Error(`${name} is no image`);
  return image;
}

/** Returns the recipe of one binary. */
function plain(component: ComponentName, binary: string): Recipe {
  return {
    stamp: async () => stampOf(['plain', binary, await binariesStamp(component)], []),
    async make(out, say) {
      await copyFile(join(await ensureBinaries(component, [binary], say), binary), out);
    },
  };
}

/** Returns the recipe of a compressed tar with all binaries of a component. */
function bundle(component: ComponentName, pathOf: (binary: string) => string): Recipe {
  const binaries = Object.keys(components[component].binaries);
  return {
    stamp: async () => stampOf(['bundle', binaries.map(pathOf), await binariesStamp(component)], []),
    async make(out, say) {
      const source = await ensureBinaries(component, binaries, say);
      const work = await mkdtemp(join(tmpdir(), 'matryoshka-bundle-'));
      try {
        for (const binary of binaries) {
          const target = join(work, pathOf(binary));
          await mkdir(join(target, '..'), { recursive: true });
          await copyFile(join(source, binary), target);
        }
        await chmod(work, 0o755);
        await packTar(work, out, true);
      } finally {
        await rm(work, { recursive: true, force: true });
      }
    },
  };
}

/** Returns the recipe of an image with a component's binaries, alone or on the layer of network tools. */
function container(
  tag: string,
  component: ComponentName,
  files: Readonly<Record<string, string>>,
  base: 'bare' | 'tools',
  entrypoint: readonly string[],
): Recipe {
  return {
    stamp: async () =>
      stampOf(
        [
          'image',
          ENVIRONMENT,
          tag,
          files,
          entrypoint,
          await binariesStamp(component),
          base === 'tools' && (await layerStamp('net-tools')),
        ],
        [],
      ),
    async make(out, say) {
      const source = await ensureBinaries(component, Object.values(files), say);
      const own = Object.fromEntries(
        Object.entries(files).map(([path, binary]) => [path, join(source, binary)]),
      );
      await writeImage(
        { tag, layers: base === 'tools' ? [await debianLayer('net-tools', say), own] : [own], entrypoint },
        out,
      );
    },
  };
}

/** Returns the recipe of HAProxy, from Debian's package of the same version. */
function haproxy(tag: string): Recipe {
  const entrypoint = ['/usr/local/sbin/haproxy'];
  return {
    stamp: async () => stampOf(['haproxy', ENVIRONMENT, tag, await layerStamp('haproxy')], []),
    make: async (out, say) =>
      writeImage({ tag, layers: [await debianLayer('haproxy', say)], entrypoint }, out),
  };
}

function pause(tag: string): Recipe {
  const source = join(modulesDir, 'pause');
  return {
    stamp: () => stampOf(['pause', ENVIRONMENT, tag], [source]),
    async make(out) {
      const work = await mkdtemp(join(tmpdir(), 'matryoshka-pause-'));
      try {
        const binary = join(work, 'pause');
        await execa('cc', ['-Os', '-static', '-s', '-o', binary, join(source, 'pause.c')], {
          timeout: 60_000,
        });
        await writeImage({ tag, layers: [{ '/pause': binary }], entrypoint: ['/pause'] }, out);
      } finally {
        await rm(work, { recursive: true, force: true });
      }
    },
  };
}
