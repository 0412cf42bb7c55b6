import { existsSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { buildImage } from '../hosts/image.ts';
import { cacheDir } from './places.ts';
import { announced, type Say } from './progress.ts';
import { stampOf } from './stamp.ts';

/**
 * Programs of Debian's with their libraries, each a folder beside this file: nft, iptables, ipset and conntrack for what
 * programs packet rules, and HAProxy.
 */
export type DebianLayer = 'net-tools' | 'haproxy';

const sourceOf = (name: DebianLayer): string => join(import.meta.dirname, name);

/** Changes with everything that the layer is made from. */
export const layerStamp = (name: DebianLayer): Promise<string> => stampOf(name, [sourceOf(name)]);

/** A tar that is a layer of an image. */
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
