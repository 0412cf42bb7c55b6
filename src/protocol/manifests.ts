import { z } from 'zod';

/** Variable `manifests` of a run spec: YAML files that the playbook applies in the cluster, in order. */
const manifestFileSchema = z.object({
  /** Source of the file, without spaces: `configmap/key`. */
  name: z.string(),
  /** Text, compressed by gzip, as base64: it is smaller, and Ansible takes no part of it for a template. */
  content: z.string(),
});
export type ManifestFile = z.infer<typeof manifestFileSchema>;

const varsSchema = z.object({ manifests: z.array(manifestFileSchema).default([]) });

/** Returns the files in the variables of a run spec. Throws ZodError if they do not match the schema. */
export const manifestFilesIn = (vars: Record<string, unknown>): ManifestFile[] =>
  varsSchema.parse(vars).manifests;

/** Returns the name of a file for messages. */
export function describeFile(name: string): string {
  const [configMap = '', key = ''] = name.split('/');
  return `ConfigMap ${configMap}, key ${key}`;
}
