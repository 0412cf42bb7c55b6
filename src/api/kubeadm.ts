import { z } from 'zod';
import { auditSchema } from './audit.ts';
import { patchSchema } from './patches.ts';

/** Settings of a cluster's creation beyond its hosts and networks: `spec.cluster.kubeadm`. */
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
  audit: auditSchema.optional().meta({ description: 'Audit log of the API servers; default: none.' }),
  proxy: z
    .object({
      httpProxy: z
        .string()
        .max(300)
        .optional()
        .meta({ description: 'Proxy for http, for example http://proxy.example.com:3128' }),
      httpsProxy: z.string().max(300).optional().meta({ description: 'Proxy for https, often the same.' }),
      noProxy: z
        .array(z.string().max(253))
        .max(100)
        .optional()
        .meta({ description: 'Hosts, domains, addresses and networks that hosts reach without the proxy.' }),
    })
    .optional()
    .meta({ description: 'Proxy through which all hosts pull images.' }),
  registryMirrors: z
    .array(
      z.object({
        registry: z
          .string()
          .max(253)
          .meta({ description: 'Registry as in image names, for example docker.io' }),
        endpoints: z
          .array(z.string().max(300))
          .min(1)
          .max(10)
          .meta({ description: 'URLs of mirrors, in order of preference.' }),
      }),
    )
    .max(50)
    .optional()
    .meta({ description: 'Mirrors from which all hosts pull images first.' }),
  patches: z
    .array(patchSchema)
    .max(20)
    .optional()
    .meta({ description: 'Patches for the files that kubeadm writes on control planes, in this order.' }),
  encryptionAlgorithm: z.enum(['RSA-2048', 'RSA-3072', 'RSA-4096', 'ECDSA-P256']).optional().meta({
    description:
      'Algorithm of the keys that kubeadm generates; default RSA-2048. Kubelets generate their own keys.',
  }),
  encryptionAtRest: z
    .boolean()
    .optional()
    .meta({ description: 'Encrypts Secrets in etcd, with a key that only control planes have.' }),
});
export type Kubeadm = z.infer<typeof kubeadmSchema>;
