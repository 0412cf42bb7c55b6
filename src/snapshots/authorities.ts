import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';

/** The keys that every cluster needs to read its data, below /etc/kubernetes/pki (kubeadm, PKI certificates and requirements). */
const ALWAYS = [
  ...['ca.crt', 'ca.key', 'front-proxy-ca.crt', 'front-proxy-ca.key'],
  ...['etcd/ca.crt', 'etcd/ca.key', 'sa.key', 'sa.pub'],
];

/** Rejects if the .tar.gz lacks a file of a cluster, or has an empty one. `more`: files that only some clusters need. */
export async function checkAuthorities(archive: Buffer, more: readonly string[] = []): Promise<void> {
  const lacking = new Set([...ALWAYS, ...more]);
  const files = extract();
  await Promise.all([
    pipeline(Readable.from([archive]), createGunzip(), files),
    (async () => {
      for await (const entry of files) {
        const { name, size = 0 } = entry.header;
        if (size > 0) lacking.delete(name.replace(/^\.\//, ''));
        entry.resume();
      }
    })(),
  ]).catch((error: unknown) => {
    throw new Error('its archive of the keys of the cluster cannot be read', { cause: error });
  });
  if (lacking.size > 0) throw new Error(`it lacks keys of the cluster: ${[...lacking].join(', ')}`);
}
