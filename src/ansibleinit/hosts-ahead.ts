import { ownerOf } from '#precheck/checks/owner.ts';
import type { PrecheckProblem, PrecheckResult } from '#precheck/run.ts';
import type { RunSpec } from '#protocol/run-spec.ts';

/** Check that finds hosts which a later operation of this cluster has taken. */
export const STALE_RUN = 'StaleRun';

export interface HostsAhead {
  problems: PrecheckProblem[];
  /** Latest sequence on these hosts; undefined without such hosts. */
  sequence: number | undefined;
}

/**
 * Finds hosts whose owner file names a later operation of this cluster, for example after the meta cluster was restored from
 * a backup: their fence would reject the run halfway. A run that another has overtaken finds the same; its report is
 * ignored.
 */
export function hostsAhead(
  { hosts, cluster, run }: Pick<RunSpec, 'hosts' | 'cluster' | 'run'>,
  { said }: Pick<PrecheckResult, 'said'>,
): HostsAhead {
  const problems: PrecheckProblem[] = [];
  let latest: number | undefined;
  for (const { member: host } of hosts) {
    const answer = said.get(host.ip);
    const owner = answer && ownerOf(answer);
    const sequence = owner?.clusterId === cluster.id ? (owner.sequence ?? 0) : 0;
    if (sequence <= run.sequence) continue;
    latest = Math.max(latest ?? 0, sequence);
    const message =
      `StaleRun: the host was taken by operation ${sequence} of this cluster, and this is operation ${run.sequence}: ` +
      'the meta cluster is behind its hosts, as after a restore from a backup. Its count is raised now; ask for the operation again';
    problems.push({ ip: host.ip, check: STALE_RUN, severity: 'error', message });
  }
  return { problems, sequence: latest };
}
