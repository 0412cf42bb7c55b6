import { z } from 'zod';

/** Variable `manifests` of an order, which the playbook applies in the cluster: files of YAML, in order. */
const manifestFileSchema = z.object({
  /** Whence it is, without blanks: `configmap/key`. */
  name: z.string(),
  /** Base64 of its text, compressed by gzip: so it fits, and no part of it is taken for a template. */
  content: z.string(),
});
export type ManifestFile = z.infer<typeof manifestFileSchema>;

const varsSchema = z.object({ manifests: z.array(manifestFileSchema).default([]) });

/** The files among the variables of a run spec. Throws ZodError where they have not their shape. */
export const manifestFilesIn = (vars: Record<string, unknown>): ManifestFile[] =>
  varsSchema.parse(vars).manifests;

/** What a person calls a file. */
export function fileInWords(name: string): string {
  const [configMap = '', key = ''] = name.split('/');
  return `ConfigMap ${configMap}, key ${key}`;
}
