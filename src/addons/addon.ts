import type { KubeObject } from '#api/meta.ts';
import type { JsonSchema } from '#api/structural-schema.ts';
import type { ControllerModule } from '#runtime/process/controller-host.ts';
import type { WriteLimit } from './write-limits.ts';

/** Rule of an RBAC role (rbac.authorization.k8s.io/v1 PolicyRule). */
export interface PolicyRule {
  apiGroups: readonly string[];
  resources: readonly string[];
  /** Restricts the rule to objects of these names. */
  resourceNames?: readonly string[];
  verbs: readonly string[];
}

/** Add-on: a system beside clusters. `--controllers` switches it on; deploy/addons/<name>.yaml installs it. */
export interface Addon {
  /** Its name in `--controllers`. */
  name: string;
  /** Summary for users, in one line. */
  summary: string;
  module: ControllerModule;
  crds: readonly (() => JsonSchema)[];
  /** Rules of its ClusterRole, without those for leader election. */
  rules: readonly PolicyRule[];
  /** Restricts writes that RBAC allows to those of the controller. */
  writeLimits?: readonly WriteLimit[];
  /** Further objects to install: roles that users bind, admission policies. */
  others?: readonly (KubeObject & JsonSchema)[];
  /** Program that serves its callers, with a separate account and rules. */
  server?: AddonServer;
}

export interface AddonServer {
  /** Subcommand of `matryoshka`, and its settings. */
  args: readonly string[];
  /** Ports of its Service; `target` is the container's port if it differs. */
  ports: readonly { name: string; port: number; target?: number }[];
  /** Serves TLS with the Secret `<its name>-tls`. */
  hasCertificate: boolean;
  /** Writable directory in memory. */
  scratch?: string;
  rules: readonly PolicyRule[];
  /** Set if several replicas serve clients outside the cluster. Absent: one replica serves clients inside. */
  outside?: {
    replicas: number;
    memoryLimit: string;
    /** Longest time in which a pod finishes its requests. */
    graceSeconds: number;
  };
}
