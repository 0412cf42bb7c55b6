import type { KubeObject } from '#api/meta.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import type { Controller } from '#runtime/controller/controller.ts';
import { certificateModule } from './certificate/module.ts';
import { type ClusterModuleDeps, clusterModule } from './cluster/module.ts';

/** A controller with the caches that it reads. */
export interface ControllerModule {
  controllers: Controller[];
  caches: Informer<KubeObject>[];
}

/** Every controller. */
export const modules = (deps: ClusterModuleDeps): ControllerModule[] => [
  clusterModule(deps),
  certificateModule(deps),
];
