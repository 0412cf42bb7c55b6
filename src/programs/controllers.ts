import { addons } from '#addons/index.ts';
import { UsageError } from '#base/errors.ts';
import { type CertificateModuleSettings, certificateModule } from '#controller/certificate/module.ts';
import { type ClusterModuleSettings, clusterModule } from '#controller/cluster/module.ts';
import type { ControllerModule } from '#runtime/process/controller-host.ts';

export interface ModuleSettings {
  /** Returns the settings of clusters; called only if their controller is one of the names. */
  clusters: () => ClusterModuleSettings;
  certificates: CertificateModuleSettings;
}

/** Returns every controller by its name in `--controllers`. */
const modules = ({
  clusters,
  certificates,
}: ModuleSettings): Readonly<Record<string, () => ControllerModule>> => ({
  kubernetescluster: () => clusterModule(clusters()),
  certificate: () => certificateModule(certificates),
  ...Object.fromEntries(addons.map(({ name, module }) => [name, () => module])),
});

/** Returns the controllers of these names. Throws UsageError with the valid names. */
export function modulesOf(names: readonly string[], settings: ModuleSettings): readonly ControllerModule[] {
  const all = modules(settings);
  return names.map((name) => {
    const module = all[name];
    if (module) return module();
    throw new UsageError(`--controllers: "${name}" is none of ${Object.keys(all).join(', ')}`);
  });
}
