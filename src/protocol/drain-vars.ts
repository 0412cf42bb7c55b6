import type { Drain } from '#api/drain.ts';

/**
 * Returns the playbook variables of `spec.cluster.drain`; absent fields keep the site's value, or the default of the roles.
 */
export const drainVars = ({
  timeoutSeconds,
  force,
  deleteEmptyDirData,
}: Drain = {}): Record<string, unknown> => ({
  ...(timeoutSeconds === undefined ? {} : { drain_seconds: timeoutSeconds }),
  ...(force === undefined ? {} : { drain_force: force }),
  ...(deleteEmptyDirData === undefined ? {} : { drain_delete_emptydir_data: deleteEmptyDirData }),
});
