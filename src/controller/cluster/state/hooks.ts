import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { hookField, type PlannedHook } from '#operations/hooks.ts';
import type { Client } from '#runtime/client/client.ts';
import { Refusal } from '../decide/refusal.ts';
import { pinnedFilesIn } from './pinned-files.ts';

/** A Job's Secret holds at most 1 MiB, and also contains the hosts. */
const MAX_TEXT = 256 * 1024;

/**
 * Returns the texts of hooks, in their order. Each must have the checksum of the plan; throws a Refusal that names the hook
 * if its ConfigMap was edited since.
 */
export async function readHooks(
  client: Client,
  { metadata: { namespace = '' } }: KubernetesCluster,
  hooks: readonly PlannedHook[],
): Promise<string[]> {
  const read = pinnedFilesIn(client, namespace, 'Hooks');
  const texts: string[] = [];
  for (const hook of hooks) {
    const text = await read(hook, hookField(hook));
    if (Buffer.byteLength(text) > MAX_TEXT)
      throw new Refusal(
        'HooksInvalid',
        `${hookField(hook)}: is longer than ${MAX_TEXT / 1024} KiB; shorten it`,
      );
    texts.push(text);
  }
  return texts;
}
