import { z } from 'zod';

/**
 * A user's own file: one key of a ConfigMap in the cluster's namespace, and the SHA-256 of its text. The checksum is in the
 * spec, so that a user who may only edit the ConfigMap decides nothing.
 */
export const pinnedFileSchema = z.object({
  configMap: z
    .string()
    .max(253)
    .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, { error: 'is not a name of a ConfigMap' })
    .meta({ description: 'ConfigMap of this namespace.' }),
  key: z
    .string()
    .max(253)
    .regex(/^[-._a-zA-Z0-9]+$/, { error: 'is not a key of a ConfigMap; write it like addons.yaml' })
    .meta({ description: 'Key in data; its text is YAML.' }),
  sha256: z
    .string()
    .max(64)
    .regex(/^[0-9a-f]{64}$/, { error: 'is not a SHA-256 in hexadecimal; write what "sha256sum FILE" says' })
    .meta({ description: 'SHA-256 of that text, as sha256sum prints it.' }),
});
export type PinnedFile = z.infer<typeof pinnedFileSchema>;
