import { z } from 'zod';

/** What is installed into a cluster besides Kubernetes itself: `spec.addons`. */

/** Pod networks that are offered. `flannel-policies` is flannel, with kube-router enforcing NetworkPolicies. */
const NETWORKS = ['flannel', 'flannel-policies', 'none'] as const;

/** How many files of manifests a cluster is made with at most. */
const MAX_MANIFESTS = 20;

/**
 * A file of manifests: one key of a ConfigMap of the cluster's namespace, and the SHA-256 of its text. The sum stands in
 * the spec, so that whoever may edit the ConfigMap alone decides nothing.
 */
const manifestSchema = z.object({
  configMap: z
    .string()
    .max(253)
    .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, { error: 'is not a name of a ConfigMap' })
    .meta({ description: 'ConfigMap of this namespace.' }),
  key: z
    .string()
    .max(253)
    .regex(/^[-._a-zA-Z0-9]+$/, { error: 'is not a key of a ConfigMap; write it like addons.yaml' })
    .meta({ description: 'Key in data, whose text is YAML.' }),
  sha256: z
    .string()
    .max(64)
    .regex(/^[0-9a-f]{64}$/, { error: 'is not a SHA-256 in hexadecimal; write what "sha256sum FILE" says' })
    .meta({ description: 'SHA-256 of that text, as sha256sum says it of the file.' }),
});
export type Manifest = z.infer<typeof manifestSchema>;

export const addonsSchema = z.object({
  network: z.enum(NETWORKS).optional().meta({
    description:
      'Pod network; flannel-policies is flannel that enforces NetworkPolicies. Default: flannel. It cannot be changed yet.',
  }),
  manifests: z.array(manifestSchema).max(MAX_MANIFESTS).optional().meta({
    description:
      'Files of manifests that are applied once the cluster is there, in this order. They cannot be changed yet.',
  }),
});
