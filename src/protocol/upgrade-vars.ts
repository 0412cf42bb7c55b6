import type { Upgrade } from '#api/upgrade.ts';

/** The first step of an upgrade that brings programs and images. Before it, hosts need space for them. */
export const PREPARE_UPGRADE = 'Prepare control planes';

/** Returns the playbook variables of `spec.cluster.upgrade`, which a plan shows with these defaults. */
export const upgradeVars = ({
  maxUnavailable = 1,
  drainWorkers = true,
}: Upgrade = {}): Record<string, unknown> => ({
  upgrade_max_unavailable: maxUnavailable,
  upgrade_drain: drainWorkers,
});
