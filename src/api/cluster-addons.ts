import { z } from 'zod';
import { pinnedFileSchema } from './pinned-file.ts';

/** Software that is installed in a cluster besides Kubernetes itself: `spec.addons`. */

/** Pod networks that are offered. `flannel-policies` is flannel, with kube-router enforcing NetworkPolicies. */
const NETWORKS = ['flannel', 'flannel-policies', 'none'] as const;

export const networkSchema = z.enum(NETWORKS).meta({
  description:
    'Pod network. flannel-policies also enforces NetworkPolicies. Default: flannel. It cannot change from or to none.',
});

/** Most manifest files of a cluster. */
const MAX_MANIFESTS = 20;

export const addonsSchema = z.object({
  network: networkSchema.optional(),
  manifests: z.array(pinnedFileSchema).max(MAX_MANIFESTS).optional().meta({
    description:
      'Manifest files that the creation applies at its end, in this order. They cannot be changed yet.',
  }),
});
