import { execa } from 'execa';

const TAR_TIMEOUT_MS = 120_000;

/** Packs a folder so that equal content gives equal bytes: sorted, no owner, no time. */
export async function packTar(folder: string, out: string, compress = false): Promise<void> {
  const args = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '-C', folder];
  // -n leaves the name and time out; -1 because it is unpacked on every host and kept only here.
  const compression = compress ? ['--use-compress-program=gzip -n -1'] : [];
  await execa('tar', [...args, ...compression, '-cf', out, '.'], {
    timeout: TAR_TIMEOUT_MS,
    stdin: 'ignore',
  });
}
