import { SECRETS, type Secret, secretData } from '#api/core.ts';
import { docker } from '../hosts/docker.ts';
import type { LabHost } from '../hosts/places.ts';
import { remakeHost } from '../hosts/up.ts';
import type { Meta } from './meta.ts';

/** Replaces hosts of a cluster by new machines at their addresses, and states the host keys in the cluster's Secret. */
export async function newMachines(
  { client }: Pick<Meta, 'client'>,
  cluster: string,
  hosts: readonly LabHost[],
): Promise<void> {
  const keys: string[] = [];
  for (const host of hosts) {
    await remakeHost(host);
    const key = await docker([
      'exec',
      host.name,
      'cut',
      '-d',
      ' ',
      '-f',
      '1,2',
      '/etc/ssh/ssh_host_ed25519_key.pub',
    ]);
    keys.push(`${host.ip} ${key.trim()}\n`);
  }
  const data = secretData({ known_hosts: keys.join('') });
  await client.patch<Secret>(
    SECRETS,
    { namespace: 'default', name: `${cluster}-ssh` },
    { data },
    { type: 'merge' },
  );
}
