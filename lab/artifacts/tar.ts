import { execa } from 'execa';

const TAR_TIMEOUT_MS = 120_000;

/** Packs a folder so that equal content gives equal bytes: sorted, without owner and time. */
export async function packTar(folder: string, out: string, compress = false): Promise<void> {
  const args = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '-C', folder];
  // -n omits the name and time. -1 is fast: every host unpacks the file, and only this machine stores it.
  const compression = compress ? ['--use-compress-program=gzip -n -1'] : [];
  await execa('tar', [...args, ...compression, '-cf', out, '.'], {
    timeout: TAR_TIMEOUT_MS,
    stdin: 'ignore',
  });
}
