import { z } from 'zod';
import { pinnedFileSchema } from './pinned-file.ts';

/** What is installed into a cluster besides Kubernetes itself: `spec.addons`. */

/** Pod networks that are offered. `flannel-policies` is flannel, with kube-router enforcing NetworkPolicies. */
const NETWORKS = ['flannel', 'flannel-policies', 'none'] as const;

/** How many files of manifests a cluster is made with at most. */
const MAX_MANIFESTS = 20;

export const addonsSchema = z.object({
  network: z.enum(NETWORKS).optional().meta({
    description:
      'Pod network; flannel-policies is flannel that enforces NetworkPolicies. Default: flannel. It cannot be changed yet.',
  }),
  manifests: z.array(pinnedFileSchema).max(MAX_MANIFESTS).optional().meta({
    description:
      'Files of manifests that are applied once the cluster is there, in this order. They cannot be changed yet.',
  }),
});
