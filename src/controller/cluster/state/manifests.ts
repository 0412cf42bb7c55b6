import { gzipSync } from 'node:zlib';
import type { KubernetesCluster, Spec } from '#api/kubernetes-cluster.ts';
import { appliesManifests, manifestField, manifestsOf } from '#operations/manifests.ts';
import type { ManifestFile } from '#protocol/manifests.ts';
import type { Step } from '#protocol/run-spec.ts';
import type { Client } from '#runtime/client/client.ts';
import { Refusal } from '../decide/refusal.ts';
import { pinnedFilesIn } from './pinned-files.ts';

/** All texts together; parsing so much of the worst YAML takes some seconds. */
const MAX_TEXT = 512 * 1024;
/** All together compressed: an attempt's Secret holds at most 1 MiB, and also contains the hosts. */
const MAX_CONTENT = 192 * 1024;

/**
 * Returns the variables of a run that applies the files of `spec.addons.manifests`; empty if its steps do not. Each file
 * must have the checksum of the spec; throws a Refusal that names the file if its ConfigMap was edited since.
 */
export async function manifestVars(
  client: Client,
  { metadata: { namespace = '' } }: KubernetesCluster,
  spec: Spec,
  steps: readonly Step[],
): Promise<{ manifests?: ManifestFile[] }> {
  const wanted = manifestsOf(spec);
  if (!appliesManifests(steps)) return {};
  const read = pinnedFilesIn(client, namespace, 'Manifests');
  const manifests: ManifestFile[] = [];
  let [text, content] = [0, 0];
  for (const [index, manifest] of wanted.entries()) {
    const field = manifestField(index);
    const found = await read(manifest, field);
    const file = { name: `${manifest.configMap}/${manifest.key}`, content: packed(found) };
    text += Buffer.byteLength(found);
    content += file.content.length;
    if (text > MAX_TEXT || content > MAX_CONTENT)
      throw new Refusal('ManifestsInvalid', `${field}: ${tooLong(text > MAX_TEXT)}`);
    manifests.push(file);
  }
  return { manifests };
}

const packed = (text: string): string => gzipSync(text).toString('base64');

const tooLong = (isText: boolean): string =>
  isText
    ? `the files up to here are longer than ${MAX_TEXT / 1024} KiB; apply the larger ones yourself once the cluster is there`
    : `the files up to here are longer than ${MAX_CONTENT / 1024} KiB when compressed; apply the larger ones yourself once the cluster is there`;
