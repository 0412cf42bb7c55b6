import { z } from 'zod';

const map = z.record(z.string(), z.unknown()).default({});
const texts = z.array(z.string()).default([]);

/** An image of the release: where its file is, and which hosts need it. */
const artifactImageSchema = z.object({
  image: z.string(),
  path: z.string(),
  sha256: z.string(),
  hosts: z.enum(['all', 'masters', 'balanced']),
});
export type ArtifactImage = z.infer<typeof artifactImageSchema>;

/** Variables of an inventory that decisions depend on (ansible/README.md, Inventory). */
const varsSchema = z.object({
  cluster_id: z.string(),
  cluster_name: z.string(),
  kube_version: z.string().default(''),
  control_plane_endpoint_name: z.string(),
  control_plane_endpoint_address: z.string().default(''),
  control_plane_endpoint_port: z.int().default(6443),
  pod_cidr: z.string().default(''),
  service_cidr: z.string().default(''),
  network: z.string().default('flannel'),
  images_registry: z.string().default('registry.k8s.io'),
  artifact_images: z.array(artifactImageSchema).default([]),
  component_images: z.record(z.string(), z.string()).default({}),
  cert_sans: texts,
  kubelet_config: map,
  kubelet_resolv_conf_nameservers: texts,
  kube_proxy_config: map,
  kubeadm_patches: map,
  encryption_algorithm: z.string().default('RSA-2048'),
  encryption_at_rest: z.boolean().default(false),
  audit_policy: map,
  audit_log: z.object({ maxage: z.int(), maxbackup: z.int(), maxsize: z.int() }).partial().default({}),
});
export type Vars = z.infer<typeof varsSchema>;

const groupSchema = z.object({ hosts: z.record(z.string(), z.unknown()) });
const inventorySchema = z.object({
  hosts: z.record(z.string(), z.object({ ip: z.string(), access_ip: z.string(), node_name: z.string() })),
  vars: varsSchema,
  children: z.record(z.string(), groupSchema),
});

export interface Inputs {
  vars: Vars;
  hosts: z.infer<typeof inventorySchema>['hosts'];
  /** Returns the hosts of a group, in the order of the inventory. */
  group(name: string): string[];
}

/** Reads what decisions depend on from an inventory in the shape of Ansible's YAML plugin. Throws if a variable is missing. */
export function inputsOf(all: unknown): Inputs {
  const { vars, hosts, children } = inventorySchema.parse(all);
  return { vars, hosts, group: (name) => Object.keys(children[name]?.hosts ?? {}) };
}
