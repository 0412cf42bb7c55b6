import { CONFIG_MAPS, type ConfigMap } from '#api/core.ts';
import type { PinnedFile } from '#api/pinned-file.ts';
import { sha256 as sha256Of } from '#base/canonical.ts';
import { describeFile } from '#protocol/manifests.ts';
import type { Client } from '#runtime/client/client.ts';
import { isForbidden } from '#runtime/wire/api-error.ts';
import { Refusal } from '../decide/refusal.ts';

/**
 * Reads the text of a file at a field of the spec. The text must have the checksum of the spec; throws a Refusal that names
 * the field if the ConfigMap was edited since.
 */
type Read = (file: PinnedFile, field: string) => Promise<string>;

/** Returns a reader for files of a namespace; each ConfigMap is read once. `kind` begins the reasons of refusals. */
export function pinnedFilesIn(client: Client, namespace: string, kind: 'Manifests' | 'Hooks'): Read {
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
    if (!found) throw new Refusal(`${kind}Missing`, `${field}: ConfigMap ${configMap} is not there; make it`);
    const text = found.data && Object.hasOwn(found.data, key) ? found.data[key] : undefined;
    if (text === undefined)
      throw new Refusal(
        `${kind}Missing`,
        `${field}: ConfigMap ${configMap} has no key ${key} in data; put the file there`,
      );
    const sum = sha256Of(text);
    if (sum !== sha256)
      throw new Refusal(
        `${kind}Changed`,
        `${field}: ${describeFile(`${configMap}/${key}`)} has SHA-256 ${sum}, and ${sha256} was asked for; ` +
          'put the file back, or write the sum of the one that you want into the spec',
      );
    return text;
  };
}
