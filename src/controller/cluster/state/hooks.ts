import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { hookField, type PlannedHook } from '#operations/hooks.ts';
import type { Client } from '#runtime/client/client.ts';
import { Refusal } from '../decide/refusal.ts';
import { pinnedFilesIn } from './pinned-files.ts';

/** A Job's Secret takes 1 MiB, and has the hosts as well. */
const MAX_TEXT = 256 * 1024;

/**
 * Texts of hooks, in their order. Each is as the plan has its sum, whoever has edited its ConfigMap since; else throws a
 * Refusal that names it.
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
