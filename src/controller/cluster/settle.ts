import { kubeconfigSecretName } from '#api/names.ts';
import { shortHash } from '#base/canonical.ts';
import type { Report } from '#installer/installer.ts';
import { type HostPlan, isMaster } from '#operations/members.ts';
import type { Operation } from '#operations/operation.ts';
import { isUsable } from './kubeconfig.ts';
import type { Effect, Outcome } from './outcome.ts';
import { secretIsForeign } from './refusal.ts';
import type { Snapshot } from './snapshot.ts';

const FETCH_DEADLINE_SECONDS = 300;
const FETCH_RETRY_MS = 30_000;

/** What must still be written down before a success counts; undefined when all of it is. */
export function settle(snapshot: Snapshot, plan: HostPlan, operation: Operation): Outcome | undefined {
  const { attempt, claims, kubeconfig } = snapshot;
  const report = attempt.kind === 'succeeded' ? attempt.report : undefined;
  const stateOf = (ip: string) => claims.find(({ host }) => host.ip === ip)?.state;
  const failed = new Map(report?.hosts.filter(({ ok }) => !ok).map(({ ip, message }) => [ip, message ?? '']));
  const joining = plan.joining.map(({ ip }) => ip).filter((ip) => stateOf(ip) !== 'joined');
  // Without a report nobody knows which hosts were reset, and a host that may not be clean must not pass for clean.
  const whyUnclean = (ip: string) => (report ? failed.get(ip) : 'the report of its reset was lost');
  const leaving = plan.leaving.map(({ ip }) => ip);
  const unclean = leaving.flatMap((ip) => {
    const why = whyUnclean(ip);
    return why === undefined || stateOf(ip) === 'unclean' ? [] : [{ ip, why }];
  });
  const released = leaving.filter((ip) => whyUnclean(ip) === undefined);

  const effects: Effect[] = [];
  if (report?.knownHosts !== undefined && joining.length > 0) effects.push({ kind: 'keep-access', report });
  if (joining.length > 0) effects.push({ kind: 'join', hosts: joining });
  if (unclean.length > 0) effects.push({ kind: 'taint', hosts: unclean });
  if (released.length > 0) effects.push({ kind: 'release', hosts: released });
  const [first, ...others] = effects;
  if (first) return { kind: 'act', effects: [first, ...others] };
  if (!operation.needsKubeconfig || kubeconfig.kind === 'present') return undefined;
  return obtainKubeconfig(snapshot, report);
}

/** From the report if it has one, else by a Job that only fetches it. */
export function obtainKubeconfig(snapshot: Snapshot, report?: Report): Outcome {
  const { now, fetch, claims, cluster, clusterId, operation, attempts } = snapshot;
  if (snapshot.kubeconfig.kind === 'hidden') {
    const message = `the operator may not read Secrets of namespace ${cluster.metadata.namespace ?? ''}`;
    return { kind: 'wait', ms: FETCH_RETRY_MS, stall: { reason: 'NamespaceNotServed', message } };
  }
  if (snapshot.kubeconfig.kind === 'foreign') {
    const message = secretIsForeign(kubeconfigSecretName(cluster.metadata.name ?? ''));
    return { kind: 'wait', ms: FETCH_RETRY_MS, stall: { reason: 'SecretConflict', message } };
  }
  const fetched = fetch.kind === 'succeeded' ? fetch.report : undefined;
  const usable = [report, fetched].find((one) => isUsable(one?.kubeconfig, now));
  if (usable) return { kind: 'act', effects: [{ kind: 'keep-access', report: usable }] };
  if (fetch.kind === 'running') return { kind: 'wait', ms: FETCH_DEADLINE_SECONDS * 1_000 };
  const fetches = attempts.filter(({ job }) => job.startsWith('fetch-'));
  const stall = {
    reason: 'KubeconfigMissing',
    message:
      fetch.kind === 'failed'
        ? fetch.message
        : fetched?.kubeconfig === undefined
          ? 'it is fetched again'
          : 'what was fetched is no kubeconfig, or has ended; it is fetched again',
  };
  const endedAt = 'endedAt' in fetch ? Date.parse(fetch.endedAt ?? '') : Number.NaN;
  const restMs = endedAt + FETCH_RETRY_MS - now.getTime();
  if (restMs > 0) return { kind: 'wait', ms: restMs, stall };
  if (fetch.kind !== 'absent' && fetches.length > 0) {
    return { kind: 'act', effects: [{ kind: 'discard', attempts: fetches }] };
  }
  const masters = claims
    .filter(({ host, state }) => state === 'joined' && isMaster(host))
    .map(({ host }) => host);
  if (!operation || masters.length === 0) return { kind: 'wait', ms: FETCH_RETRY_MS, stall };
  const attempt = {
    clusterId,
    sequence: operation.sequence,
    attempt: operation.attempt,
    job: fetchJobName(clusterId, operation.sequence),
    cluster: { namespace: cluster.metadata.namespace ?? '', name: cluster.metadata.name ?? '' },
    operation: 'fetch' as const,
    spec: operation.spec,
    plan: { joining: [], leaving: [], through: masters },
    reclaims: new Map<string, string>(),
    deadlineSeconds: FETCH_DEADLINE_SECONDS,
  };
  return { kind: 'act', effects: [{ kind: 'start', attempt }] };
}

export const fetchJobName = (clusterId: string, sequence: number): string =>
  `fetch-${shortHash(`${clusterId}/${sequence}`)}-1`;
