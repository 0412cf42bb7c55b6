import type { KubeObject } from '#api/meta.ts';
import type { JsonSchema } from '#api/structural-schema.ts';
import type { ControllerModule } from '#runtime/process/controller-host.ts';
import type { WriteLimit } from './write-limits.ts';

/** A rule of an RBAC role (rbac.authorization.k8s.io/v1 PolicyRule). */
export interface PolicyRule {
  apiGroups: readonly string[];
  resources: readonly string[];
  /** Restricts the rule to objects of these names. */
  resourceNames?: readonly string[];
  verbs: readonly string[];
}

/** A system beside clusters: `--controllers` switches it on, deploy/addons/<name>.yaml installs it. */
export interface Addon {
  /** Its name in `--controllers`. */
  name: string;
  /** One line for people. */
  summary: string;
  module: ControllerModule;
  crds: readonly (() => JsonSchema)[];
  /** The rules of its ClusterRole; leader election needs others. */
  rules: readonly PolicyRule[];
  /** Narrows writes that RBAC allows to those that the controller makes. */
  writeLimits?: readonly WriteLimit[];
  /** Further objects to install: roles that people bind, admission policies. */
  others?: readonly (KubeObject & JsonSchema)[];
  /** The program that serves its callers, with an account and rules of its own. */
  server?: AddonServer;
}

export interface AddonServer {
  /** The subcommand of `matryoshka`, and its settings. */
  args: readonly string[];
  /** Ports of its Service; `target` is the container's port if it differs. */
  ports: readonly { name: string; port: number; target?: number }[];
  /** Serves TLS with the Secret `<its name>-tls`. */
  hasCertificate: boolean;
  /** Directory in memory that it may write to. */
  scratch?: string;
  rules: readonly PolicyRule[];
  /** Set if clients outside the cluster reach it, by several replicas; absent: one replica, for clients inside. */
  outside?: {
    replicas: number;
    memoryLimit: string;
    /** Longest time in which a pod ends its requests. */
    graceSeconds: number;
  };
}
