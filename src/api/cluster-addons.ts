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
      'Pod network. flannel-policies also enforces NetworkPolicies. Default: flannel. It cannot be changed yet.',
  }),
  manifests: z.array(pinnedFileSchema).max(MAX_MANIFESTS).optional().meta({
    description:
      'Manifest files that the creation applies at its end, in this order. They cannot be changed yet.',
  }),
});
