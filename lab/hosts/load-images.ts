import { execa } from 'execa';
import { announced, type Say } from '../artifacts/progress.ts';
import type { ImageArchive } from '../artifacts/test-images.ts';
import { docker } from './docker.ts';
import type { LabHost } from './places.ts';

const LOAD_TIMEOUT_MS = 5 * 60_000;
const LABEL = 'matryoshka.lab/test-images';
const ctr = ['ctr', '-n', 'k8s.io', 'images'];

/** Loads images into containerd of hosts that are nodes, without the operator. A host that has them stays unchanged. */
export async function loadImages(hosts: readonly LabHost[], archive: ImageArchive, say: Say): Promise<void> {
  for (const host of hosts) {
    if (await hasImages(host, archive)) continue;
    await announced(say, `test images on ${host.name}`, () => load(host, archive));
    if (!(await hasImages(host, archive)))
      throw new Error(`${host.name} does not list the images it was given`);
  }
}

/** Whether a host lists all of them, with the content that it was given. */
export async function hasImages(
  { name }: LabHost,
  { stamp, tags }: Omit<ImageArchive, 'path'>,
): Promise<boolean> {
  const listed = await docker(['exec', name, ...ctr, 'ls', '-q', `labels."${LABEL}"=="${stamp}"`]);
  const present = new Set(listed.split('\n'));
  return tags.every((tag) => present.has(tag));
}

const load = ({ name }: LabHost, { path, stamp }: ImageArchive) =>
  execa('docker', ['exec', '-i', name, ...ctr, 'import', '--local', '--label', `${LABEL}=${stamp}`, '-'], {
    stdin: { file: path },
    timeout: LOAD_TIMEOUT_MS,
  });
