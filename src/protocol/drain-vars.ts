import type { Drain } from '#api/drain.ts';

/** Variables of the playbooks that `spec.cluster.drain` sets; what it leaves out is the site's, or the roles' default. */
export const drainVars = ({
  timeoutSeconds,
  force,
  deleteEmptyDirData,
}: Drain = {}): Record<string, unknown> => ({
  ...(timeoutSeconds === undefined ? {} : { drain_seconds: timeoutSeconds }),
  ...(force === undefined ? {} : { drain_force: force }),
  ...(deleteEmptyDirData === undefined ? {} : { drain_delete_emptydir_data: deleteEmptyDirData }),
});
