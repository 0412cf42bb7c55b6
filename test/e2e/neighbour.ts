import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { docker } from '#lab/hosts/docker.ts';
import { loadImages } from '#lab/hosts/load-images.ts';
import type { LabHost } from '#lab/hosts/places.ts';
import { kubectl } from '#lab/kubectl.ts';
import { operatorImages } from '#lab/operator-images.ts';

const ROLLOUT_S = 120;

/** What is written of a neighbour in deploy/neighbours, installed as its page says, in a cluster of these hosts. */
export async function installNeighbour(
  name: string,
  kubeconfigPath: string,
  hosts: readonly LabHost[],
): Promise<{ image: string }> {
  const image = 'docker.io/matryoshka/operator:e2e';
  const { operator } = await operatorImages(() => {});
  const folder = await mkdtemp(join(tmpdir(), 'matryoshka-neighbour-'));
  try {
    const path = join(folder, 'operator.tar');
    await docker(['tag', operator, image]);
    await docker(['save', '-o', path, image], 120_000);
    await loadImages(hosts, { path, stamp: `neighbour-${Date.now()}`, tags: [image] }, () => {});
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const text = await readFile(join(import.meta.dirname, `../../deploy/neighbours/${name}.yaml`), 'utf8');
  const input = text.replaceAll('image: matryoshka/operator', `image: ${image}`);
  await kubectl(kubeconfigPath, ['apply', '-f', '-'], { input });
  const namespace = `matryoshka-${name}`;
  await kubectl(
    kubeconfigPath,
    ['-n', namespace, 'rollout', 'status', `deployment/${namespace}`, `--timeout=${ROLLOUT_S}s`],
    { timeoutMs: (ROLLOUT_S + 10) * 1_000 },
  );
  return { image };
}
