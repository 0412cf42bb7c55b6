import { isMaster } from '#api/cluster-host.ts';
import { stateOf } from '#api/host-record.ts';
import { kubeconfigSecretName } from '#api/names.ts';
import { shortHash } from '#base/canonical.ts';
import type { Report } from '#protocol/report.ts';
import type { PlannedHost } from '#protocol/run-spec.ts';
import { isUsable } from './kubeconfig.ts';
import type { Outcome } from './outcome.ts';
import { secretIsForeign } from './refusal.ts';
import { runOf } from './run-spec.ts';
import type { Snapshot } from './snapshot.ts';

const DEADLINE_SECONDS = 300;
const RETRY_MS = 30_000;
/** The pause after a failed fetch doubles each time, up to one hour. */
const RETRY_MAX_MS = 3_600_000;
/** The auxiliary Job that fetches a kubeconfig. */
export const FETCH = 'fetch';

/** Takes the kubeconfig from the report. Starts the auxiliary Job `fetch` if the report has none. */
export function obtainKubeconfig(snapshot: Snapshot, report?: Report): Outcome {
  const { now, fetch, cluster, operation, attempts, hosts } = snapshot;
  const { namespace = '', name = '' } = cluster.metadata;
  const stalled = (reason: string, message: string): Outcome => ({
    kind: 'wait',
    ms: RETRY_MS,
    stall: { reason, message },
  });
  if (snapshot.kubeconfig.kind === 'hidden')
    return stalled('NamespaceNotServed', `the operator may not read Secrets of namespace ${namespace}`);
  if (snapshot.kubeconfig.kind === 'foreign')
    return stalled('SecretConflict', secretIsForeign(kubeconfigSecretName(name)));
  const fetched = fetch.kind === 'succeeded' ? fetch.report : undefined;
  const usable = [report, fetched].find((one) => isUsable(one?.kubeconfig, now));
  if (usable?.kubeconfig !== undefined)
    return { kind: 'act', effects: [{ kind: 'keep-kubeconfig', kubeconfig: usable.kubeconfig }] };
  if (fetch.kind === 'running') return { kind: 'wait', ms: DEADLINE_SECONDS * 1_000 };
  const stall = { reason: 'KubeconfigMissing', message: whyNone(snapshot, fetched) };
  const runs = attempts.filter(({ auxiliary }) => auxiliary === FETCH);
  const tries = Math.max(1, ...runs.map(({ attempt }) => attempt));
  const pauseMs = Math.min(RETRY_MS * 2 ** (tries - 1), RETRY_MAX_MS);
  const endedAt = 'endedAt' in fetch ? Date.parse(fetch.endedAt ?? '') : Number.NaN;
  const restMs = endedAt + pauseMs - now.getTime();
  if (restMs > 0) return { kind: 'wait', ms: restMs, stall };
  const masters = hosts.filter((record) => stateOf(record) === 'Joined' && isMaster(record.spec));
  if (!operation || masters.length === 0) return { kind: 'wait', ms: RETRY_MS, stall };
  const next = fetch.kind === 'absent' ? 1 : tries + 1;
  const stay = masters.map(
    ({ spec: { clusterId: _id, cluster: _of, ...host } }): PlannedHost => ({
      member: host,
      action: 'stay',
    }),
  );
  const attempt = runOf(
    snapshot,
    { hosts: stay, steps: [] },
    {
      job: fetchJobName(snapshot.clusterId, operation.sequence, next),
      attempt: next,
      deadlineSeconds: DEADLINE_SECONDS,
      auxiliary: FETCH,
      task: FETCH,
      callback: FETCH,
      precheck: 'reach',
      brings: ['kubeconfig'],
    },
  );
  return {
    kind: 'act',
    effects:
      runs.length > 0
        ? [
            { kind: 'start', attempt },
            { kind: 'discard', attempts: runs },
          ]
        : [{ kind: 'start', attempt }],
  };
}

function whyNone({ fetch }: Snapshot, fetched: Report | undefined): string {
  if (fetch.kind === 'failed') return `it is fetched again; the last time: ${fetch.message}`;
  return fetched?.kubeconfig === undefined
    ? 'it is fetched again'
    : 'what was fetched is no kubeconfig, or has ended; it is fetched again';
}

const fetchJobName = (clusterId: string, sequence: number, attempt = 1): string =>
  `fetch-${shortHash(`${clusterId}/${sequence}`)}-${attempt}`;
