import { z } from 'zod';

/** What a cluster is made with beyond its hosts and networks: `spec.cluster.kubeadm`. */
export const kubeadmSchema = z.object({
  certSANs: z
    .array(z.string().max(253))
    .max(50)
    .optional()
    .meta({ description: "Further DNS names and IP addresses in the API servers' certificates." }),
  kubelet: z
    .record(z.string(), z.unknown())
    .optional()
    .meta({ description: 'Fields of KubeletConfiguration, for all nodes.', preserveUnknown: true }),
  encryptionAtRest: z
    .boolean()
    .optional()
    .meta({ description: 'Secrets are encrypted in etcd, with a key that only control planes have.' }),
});
export type Kubeadm = z.infer<typeof kubeadmSchema>;
