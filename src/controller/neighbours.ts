import type { JsonSchema } from '#api/structural-schema.ts';
import type { ControllerModule } from './host.ts';
import { localService } from './local-service/module.ts';

/** A rule of an RBAC role (rbac.authorization.k8s.io/v1 PolicyRule). */
export interface Right {
  apiGroups: readonly string[];
  resources: readonly string[];
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
}

export const neighbours: readonly Neighbour[] = [localService];
