import { messageOf } from '#base/errors.ts';
import { isForbidden } from '#runtime/wire/api-error.ts';
import { Refusal } from '../decide/refusal.ts';
import { pinnedKeysOf } from '../state/hosts.ts';
import { keepKnownHosts } from '../state/kubeconfigs.ts';
import type { Perform } from './effect.ts';

/** Writes the host keys that a run has seen to the Secret for users. */
export const keepHostKeys: Perform<'keep-host-keys'> = async (
  { hosts },
  { cluster, hosts: records },
  { client, log },
) => {
  const shown = hosts.flatMap(({ ip, keys }) => {
    const record = records.find(({ spec }) => spec.ip === ip);
    return record ? [{ spec: record.spec, status: { hostKeys: [...keys] } }] : [];
  });
  // Runs read the keys from the Host records, so a namespace that accepts no Secret fails no operation.
  await keepKnownHosts(client, cluster, pinnedKeysOf(shown)).catch((error: unknown) => {
    if (!isForbidden(error) && !(error instanceof Refusal)) throw error;
    log.warn({ error: messageOf(error) }, 'the host keys could not be written');
  });
};
