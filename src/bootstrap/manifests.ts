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

/** Every object under a directory of manifests, in order of files. Throws with the file's name. */
export function readManifests(directory: string): Manifest[] {
  const files = readdirSync(directory)
    .filter((name) => name.endsWith('.yaml'))
    .sort();
  return files.flatMap((file) =>
    parseAllDocuments(readFileSync(join(directory, file), 'utf8')).map((document) => {
      const parsed = objectSchema.safeParse(document.toJS());
      if (!parsed.success) throw new Error(`${file}: ${parsed.error.message}`);
      return parsed.data;
    }),
  );
}

/** What an installation puts into the manifests. */
export interface Values {
  /** By the name that stands in the manifests: `matryoshka/operator`. */
  images: Readonly<Record<string, string>>;
  /** PEM, for the webhook's caller. */
  caBundle: string;
}

/** The manifests with images and the webhook's authority filled in; everything else stays as it was written. */
export function fillIn(manifests: readonly Manifest[], values: Values): KubeObject[] {
  const replace = (value: unknown, key: string): unknown => {
    if (Array.isArray(value)) return value.map((item) => replace(item, key));
    if (typeof value === 'object' && value !== null) {
      const entries = Object.entries(value).map(([name, item]) => [name, replace(item, name)]);
      const copy = Object.fromEntries(entries);
      return key === 'clientConfig'
        ? { ...copy, caBundle: Buffer.from(values.caBundle).toString('base64') }
        : copy;
    }
    return typeof value === 'string' && (key === 'image' || key === 'value')
      ? (values.images[value] ?? value)
      : value;
  };
  return manifests.map((manifest) => {
    const { apiVersion, kind, metadata } = manifest;
    return {
      ...Object.fromEntries(Object.entries(manifest).map(([name, item]) => [name, replace(item, name)])),
      apiVersion,
      kind,
      metadata,
    };
  });
}

const PLURALS: Readonly<Record<string, string>> = {
  NetworkPolicy: 'networkpolicies',
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
};

/** Where an object of a manifest is served; the plural follows English for all kinds that manifests hold. */
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
