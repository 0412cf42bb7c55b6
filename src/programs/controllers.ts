import { addons } from '#addons/index.ts';
import { UsageError } from '#base/errors.ts';
import { certificateModule } from '#controller/certificate/module.ts';
import { type ClusterModuleSettings, clusterModule } from '#controller/cluster/module.ts';
import type { ControllerModule } from '#runtime/process/controller-host.ts';

/** Returns every controller by its name in `--controllers`; settings of clusters are read only if needed. */
const modules = (
  settings: () => ClusterModuleSettings,
): Readonly<Record<string, () => ControllerModule>> => ({
  kubernetescluster: () => clusterModule(settings()),
  certificate: () => certificateModule,
  ...Object.fromEntries(addons.map(({ name, module }) => [name, () => module])),
});

/** Returns the controllers of these names. Throws UsageError with the valid names. */
export function modulesOf(
  names: readonly string[],
  settings: () => ClusterModuleSettings,
): readonly ControllerModule[] {
  const all = modules(settings);
  return names.map((name) => {
    const module = all[name];
    if (module) return module();
    throw new UsageError(`--controllers: "${name}" is none of ${Object.keys(all).join(', ')}`);
  });
}
