import { existsSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { buildImage } from '../hosts/image.ts';
import { cacheDir } from './places.ts';
import { announced, type Say } from './progress.ts';
import { stampOf } from './stamp.ts';

/**
 * Debian's programs with their libraries, each from a folder beside this file. `net-tools` has nft, iptables, ipset and
 * conntrack, for programs that set packet rules.
 */
export type DebianLayer = 'net-tools' | 'haproxy';

const sourceOf = (name: DebianLayer): string => join(import.meta.dirname, name);

/** Returns a stamp that changes with all inputs of the layer. */
export const layerStamp = (name: DebianLayer): Promise<string> => stampOf(name, [sourceOf(name)]);

/** Builds a layer of an image, and returns the path of its tar. */
export async function debianLayer(name: DebianLayer, say: Say): Promise<string> {
  const path = join(cacheDir, 'layers', `${name}-${await layerStamp(name)}.tar`);
  if (existsSync(path)) return path;
  await mkdir(join(path, '..'), { recursive: true });
  return announced(say, `layer ${name}`, async () => {
    const image = await buildImage(`matryoshka-lab-${name}`, sourceOf(name), say);
    const part = `${path}.${process.pid}`;
    await execa('docker', ['run', '--rm', '--network=none', image], {
      stdin: 'ignore',
      stdout: { file: part },
      timeout: 120_000,
    });
    await rename(part, path);
    return path;
  });
}
