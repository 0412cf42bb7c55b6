import type { KubeObject } from '#api/meta.ts';
import type { JsonSchema } from '#api/structural-schema.ts';
import type { ControllerModule } from './host.ts';
import { ingress } from './ingress/module.ts';
import type { Limit } from './limits.ts';
import { localService } from './local-service/module.ts';
import { network } from './network/module.ts';
import { workspace } from './workspace/module.ts';

/** A rule of an RBAC role (rbac.authorization.k8s.io/v1 PolicyRule). */
export interface Right {
  apiGroups: readonly string[];
  resources: readonly string[];
  /** These and no others of the kind. */
  resourceNames?: readonly string[];
  verbs: readonly string[];
}

/** A system of its own beside clusters: switched on by `--controllers`, installed by deploy/neighbours/<name>.yaml. */
export interface Neighbour {
  /** What `--controllers` calls it. */
  name: string;
  /** One line for people. */
  summary: string;
  module: ControllerModule;
  crds: readonly (() => JsonSchema)[];
  /** All that it may do besides being elected: its ClusterRole. */
  rights: readonly Right[];
  /** Which of that its controller is held to, as far as the API server can tell. */
  limits?: readonly Limit[];
  /** What else stands in the cluster for it: roles that people bind, policies of admission. */
  others?: readonly (KubeObject & JsonSchema)[];
  /** What serves its callers, apart from its controller: a program with an account and rights of its own. */
  server?: NeighbourServer;
}

export interface NeighbourServer {
  /** The subcommand of `matryoshka`, and its settings. */
  args: readonly string[];
  /** Of a Service of the server's name; `target` is the container's, where that is another. */
  ports: readonly { name: string; port: number; target?: number }[];
  /** It serves over TLS by the Secret `<its name>-tls`. */
  hasCertificate: boolean;
  rights: readonly Right[];
  /** Of one that is reached from outside of the cluster, by several replicas; absent: one replica for callers inside. */
  outside?: {
    replicas: number;
    memoryLimit: string;
    /** What a pod may take to end what is under way. */
    graceSeconds: number;
  };
}

export const neighbours: readonly Neighbour[] = [localService, network, workspace, ingress];
