import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { docker } from '../hosts/docker.ts';
import { hasImages, loadImages } from '../hosts/load-images.ts';
import type { LabHost } from '../hosts/places.ts';
import { kubectl } from '../kubectl.ts';
import { operatorImages } from '../operator-images.ts';

const ROLLOUT_S = 120;
const SAVE_MS = 300_000;

/** Loads an image of this machine by that name into containerd of the nodes that lack it. */
export async function loadImage(present: string, name: string, hosts: readonly LabHost[]): Promise<void> {
  const id = (await docker(['image', 'inspect', '--format', '{{.Id}}', present])).trim();
  const archive = { stamp: id.replace(':', '-'), tags: [name] };
  const lacking: LabHost[] = [];
  for (const host of hosts) if (!(await hasImages(host, archive))) lacking.push(host);
  if (lacking.length === 0) return;
  const folder = await mkdtemp(join(tmpdir(), 'matryoshka-image-'));
  try {
    const path = join(folder, 'image.tar');
    await docker(['tag', present, name]);
    await docker(['save', '-o', path, name], SAVE_MS);
    await loadImages(lacking, { ...archive, path }, () => {});
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Applies the manifests of an add-on in deploy/addons, as its page describes, with an image that nodes can get. */
export async function applyAddon(name: string, kubeconfigPath: string, image: string): Promise<void> {
  const text = await readFile(join(import.meta.dirname, `../../deploy/addons/${name}.yaml`), 'utf8');
  const input = text.replaceAll('image: matryoshka/operator', `image: ${image}`);
  await kubectl(kubeconfigPath, ['apply', '-f', '-'], { input });
  const namespace = `matryoshka-${name}`;
  await kubectl(
    kubeconfigPath,
    ['-n', namespace, 'rollout', 'status', `deployment/${namespace}`, `--timeout=${ROLLOUT_S}s`],
    { timeoutMs: (ROLLOUT_S + 10) * 1_000 },
  );
}

/** Installs an add-on in a cluster of these hosts, with the checkout's own image, which it loads into them. */
export async function installAddon(
  name: string,
  kubeconfigPath: string,
  hosts: readonly LabHost[],
): Promise<{ image: string }> {
  const image = 'docker.io/matryoshka/operator:addon';
  const { operator } = await operatorImages(() => {});
  await loadImage(operator, image, hosts);
  await applyAddon(name, kubeconfigPath, image);
  return { image };
}
