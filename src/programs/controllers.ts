import { addons } from '#addons/index.ts';
import { UsageError } from '#base/errors.ts';
import { certificateModule } from '#controller/certificate/module.ts';
import { type ClusterModuleSettings, clusterModule } from '#controller/cluster/module.ts';
import type { ControllerModule } from '#runtime/process/controller-host.ts';

/** Every controller, by what `--controllers` calls it; the settings of clusters are asked for where they are needed. */
const modules = (
  settings: () => ClusterModuleSettings,
): Readonly<Record<string, () => ControllerModule>> => ({
  kubernetescluster: () => clusterModule(settings()),
  certificate: () => certificateModule,
  ...Object.fromEntries(addons.map(({ name, module }) => [name, () => module])),
});

/** The controllers of those names. Throws UsageError with the names that there are. */
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
