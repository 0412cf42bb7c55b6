import { gzipSync } from 'node:zlib';
import type { Manifest } from '#api/addons.ts';
import { CONFIG_MAPS, type ConfigMap } from '#api/core.ts';
import type { KubernetesCluster, Spec } from '#api/kubernetes-cluster.ts';
import { sha256 as sha256Of } from '#base/canonical.ts';
import { appliesManifests, manifestField, manifestsOf } from '#operations/manifests.ts';
import { fileInWords, type ManifestFile } from '#protocol/manifests.ts';
import type { Step } from '#protocol/order.ts';
import type { Client } from '#runtime/client/client.ts';
import { isForbidden } from '#runtime/wire/api-error.ts';
import { Refusal } from '../decide/refusal.ts';

/** All texts together; whoever reads YAML takes some seconds for so much of the worst. */
const MAX_TEXT = 512 * 1024;
/** All together as they travel: an attempt's Secret takes 1 MiB, and has the hosts as well. */
const MAX_CONTENT = 192 * 1024;

/** Reads the text of a file of the spec. */
type Read = (manifest: Manifest, field: string) => Promise<string>;

/**
 * Variables of a run by which it applies the files of `spec.addons.manifests`, where its steps do that. Each file is as
 * the spec has its sum, whoever has edited its ConfigMap since; else throws a Refusal that names it.
 */
export async function manifestVars(
  client: Client,
  { metadata: { namespace = '' } }: KubernetesCluster,
  spec: Spec,
  steps: readonly Step[],
): Promise<{ manifests?: ManifestFile[] }> {
  const wanted = manifestsOf(spec);
  if (!appliesManifests(steps)) return {};
  const read = readerOf(client, namespace);
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

function readerOf(client: Client, namespace: string): Read {
  const known = new Map<string, ConfigMap | undefined>();
  const find = async (name: string): Promise<ConfigMap | undefined> => {
    if (!known.has(name))
      known.set(name, await client.find<ConfigMap>(CONFIG_MAPS, { namespace, name }).catch(notServed));
    return known.get(name);
  };
  const notServed = (error: unknown): never => {
    if (!isForbidden(error)) throw error;
    throw new Refusal('NamespaceNotServed', `the operator may not read ConfigMaps of namespace ${namespace}`);
  };
  return async ({ configMap, key, sha256 }, field) => {
    const found = await find(configMap);
    if (!found)
      throw new Refusal('ManifestsMissing', `${field}: ConfigMap ${configMap} is not there; make it`);
    const text = found.data && Object.hasOwn(found.data, key) ? found.data[key] : undefined;
    if (text === undefined)
      throw new Refusal(
        'ManifestsMissing',
        `${field}: ConfigMap ${configMap} has no key ${key} in data; put the file there`,
      );
    const sum = sha256Of(text);
    if (sum !== sha256)
      throw new Refusal(
        'ManifestsChanged',
        `${field}: ${fileInWords(`${configMap}/${key}`)} has SHA-256 ${sum}, and ${sha256} was asked for; ` +
          'put the file back, or write the sum of the one that you want into the spec',
      );
    return text;
  };
}
