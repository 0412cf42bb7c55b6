import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import type { KubeObject, Resource } from '#api/meta.ts';

const objectSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().exactOptional() }),
});
export type Manifest = z.infer<typeof objectSchema>;

const ENDING = '.yaml';

/** Lists the manifest files of a directory without their extension, in order. */
export const manifestFiles = (directory: string): string[] =>
  readdirSync(directory)
    .filter((name) => name.endsWith(ENDING))
    .map((name) => name.slice(0, -ENDING.length))
    .sort();

/** Reads every object from all manifest files of a directory, or from the named ones. Throws with the file's name. */
export function readManifests(
  directory: string,
  files: readonly string[] = manifestFiles(directory),
): Manifest[] {
  return files.flatMap((file) =>
    parseAllDocuments(readFileSync(join(directory, `${file}${ENDING}`), 'utf8')).map((document) => {
      const parsed = objectSchema.safeParse(document.toJS());
      if (!parsed.success) throw new Error(`${file}: ${parsed.error.message}`);
      return parsed.data;
    }),
  );
}

const PLURALS: Readonly<Record<string, string>> = {
  IngressClass: 'ingressclasses',
  NetworkPolicy: 'networkpolicies',
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
};

/** Returns the resource of a manifest's object; plurals follow English for all kinds in manifests. */
export function resourceOf({ apiVersion = 'v1', kind = '', metadata }: KubeObject): Resource {
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  const plural = PLURALS[kind] ?? `${kind.toLowerCase()}s`;
  return {
    group: group ?? '',
    version: version ?? 'v1',
    kind,
    plural,
    namespaced: metadata.namespace !== undefined,
  };
}
