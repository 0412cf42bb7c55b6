import { certificateModule } from './certificate/module.ts';
import { type ClusterModuleSettings, clusterModule } from './cluster/module.ts';
import type { ControllerModule } from './host.ts';

/** Every controller. */
export const modules = (settings: ClusterModuleSettings): readonly ControllerModule[] => [
  clusterModule(settings),
  certificateModule,
];
