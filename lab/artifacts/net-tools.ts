import { existsSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { buildImage } from '../hosts/image.ts';
import { cacheDir } from './places.ts';
import { announced, type Say } from './progress.ts';
import { stampOf } from './stamp.ts';

const SOURCE = join(import.meta.dirname, 'net-tools');

/** Changes with everything that the layer of tools is made from. */
export const netToolsStamp = (): Promise<string> => stampOf('net-tools', [SOURCE]);

/** A tar with nft, iptables, conntrack and their libraries: the lower layer of what programs packet rules. */
export async function netToolsLayer(say: Say): Promise<string> {
  const path = join(cacheDir, 'layers', `net-tools-${await netToolsStamp()}.tar`);
  if (existsSync(path)) return path;
  await mkdir(join(path, '..'), { recursive: true });
  return announced(say, 'layer of network tools', async () => {
    const image = await buildImage('matryoshka-lab-net-tools', SOURCE, say);
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
