import type { Secret } from '#api/core.ts';
import { type HostRecord, hostRecordName } from '#api/host-record.ts';
import type { KubernetesCluster, OperationStatus } from '#api/kubernetes-cluster.ts';
import type { KubeObject, ObjectKey } from '#api/meta.ts';
import { annotations, marks } from '#api/names.ts';
import { askedWord } from '#api/words.ts';
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { InstallerModule } from '#installer/installer.ts';
import type { Offer } from '#operations/resolve.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import type { Client } from '#runtime/client/client.ts';
import { scopedClient } from '#runtime/client/scoped-client.ts';
import {
  type Controller,
  type ControllerObserver,
  createController,
  type ReconcileContext,
  type ReconcileResult,
} from '#runtime/controller/controller.ts';
import { watching } from '#runtime/controller/sources.ts';
import { isApiError, isConflict, isNotFound } from '#runtime/wire/api-error.ts';
import type { Outcome, Stall } from './decide/outcome.ts';
import { Refusal } from './decide/refusal.ts';
import { rehearsalRefused } from './decide/rest/dry-run.ts';
import { remediationEvents } from './decide/rest/remediation.ts';
import { REFUSED_RESET_MS } from './decide/rest/reset-left.ts';
import { type Health, inFlight, type Snapshot } from './decide/snapshot.ts';
import { healthEvents } from './decide/status/health.ts';
import { decide } from './decide/table.ts';
import { acceptedOperation, writeStatus } from './finish.ts';
import { observe } from './observe.ts';
import { perform } from './perform.ts';
import type { Performers } from './performers.ts';
import type { FleetQueue } from './queue/fleet-queue.ts';
import { anchorsIn } from './state/cluster-state.ts';
import { hostsIn } from './state/hosts.ts';
import { createKubeconfigs } from './state/kubeconfigs.ts';
import { settleVanished } from './vanished.ts';

export const BY_CLUSTER = 'clusterId';

/** Index of the informer of Host records. */
export const hostIndexers = {
  [BY_CLUSTER]: ({ spec }: HostRecord): string[] => [spec.clusterId],
};

export interface ClusterControllerDeps {
  client: Client;
  clock: Clock;
  log: Logger;
  /** The operator's namespace. */
  namespace: string;
  offer: Offer;
  installer: InstallerModule;
  /** What was seen last of a made cluster. */
  healthOf(cluster: KubernetesCluster): Health;
  /** Who of all clusters may begin an operation. */
  queue: FleetQueue;
  clusters: Informer<KubernetesCluster>;
  /** Host records of the operator's namespace, with `hostIndexers`. */
  hosts: Informer<HostRecord>;
  /** What the cache has of a cluster's anchor. */
  anchorOf(clusterId: string): Secret | undefined;
  /** Anchors and tombstones of an object, by its `namespace/name`, from the cache. */
  anchorsMarked(cluster: string): readonly KubeObject[];
  /** Further objects marked with a cluster (logs, anchors) whose changes concern it. */
  others: readonly Informer<KubeObject>[];
  workers: number;
  observe?: ControllerObserver | undefined;
  /** Tells people what happened. */
  event(cluster: KubernetesCluster, type: 'Normal' | 'Warning', reason: string, message: string): void;
}

/** How long what a person must mend, a refusal or a denial, is left alone before it is looked at again. */
const REFUSAL_RETRY_MS = 30_000;
const AFTER_EFFECTS_MS = 100;
/** How long an operation may fail to begin before its place is for another: its Job may be there, and not seen yet. */
const GIVEN_BACK_MS = 60_000;

/** The cluster that an object of ours in the operator's namespace belongs to. */
function clusterKeyOf({ metadata }: KubeObject): ObjectKey[] {
  const [namespace, name] = metadata.annotations?.[marks.cluster]?.split('/') ?? [];
  return namespace && name ? [{ namespace, name }] : [];
}

/** The controller of KubernetesClusters: observe, signal, table, perform, finish. */
export function clusterController(deps: ClusterControllerDeps): Controller {
  const { namespace, clock, clusters } = deps;
  const kubeconfigs = createKubeconfigs(clock);
  const hostsOf = (clusterId: string) => deps.hosts.byIndex(BY_CLUSTER, clusterId);

  async function reconcile(key: ObjectKey, context: ReconcileContext): Promise<ReconcileResult> {
    // One client a reconcile: no call outlives it, and no write of it is forgotten before the caches have seen it.
    const client = scopedClient(deps.client, context);
    const { log } = context;
    const anchors = anchorsIn(client, namespace, deps.anchorOf);
    const hosts = hostsIn(client, namespace, deps.hosts.get);
    const installer = deps.installer.over(client);
    const cluster = clusters.get(key);
    if (!cluster) {
      kubeconfigs.forget(key);
      const { anchorsMarked } = deps;
      return settleVanished(key, { client, anchors, hosts, installer, anchorsMarked, log });
    }
    const snapshot = await observe(cluster, {
      client,
      clock,
      offer: deps.offer,
      installer,
      kubeconfigs,
      anchors,
      hostsOf,
      recordAt: (ip) => deps.hosts.get({ namespace, name: hostRecordName(ip) }),
      healthOf: deps.healthOf,
      turnOf: deps.queue.turnOf,
    });
    const { signal, outcome } = decide(snapshot);
    const { attempt, hook, turn } = snapshot;
    // It may begin and does not: nothing runs that would use the place.
    const isAtWork = attempt.kind !== 'absent' || (hook !== undefined && hook.state.kind !== 'absent');
    const isHeldUp =
      !isAtWork && (outcome.kind === 'rest' || (outcome.kind === 'wait' && !outcome.keepsPlace));
    if (isHeldUp && turn.kind === 'now') deps.queue.release(cluster);
    log.debug({ signal, outcome: outcome.kind }, 'decided');
    // Whoever still waits for a cluster comes before the remains of work that is done.
    if (signal === 'leftovers' && !context.behind) return { requeueAfterMs: AFTER_EFFECTS_MS, behind: true };
    try {
      if (outcome.kind === 'act') {
        const event: Performers['event'] = (type, reason, message) =>
          deps.event(cluster, type, reason, message);
        await perform(outcome.effects, snapshot, {
          client,
          anchors,
          hosts,
          installer,
          kubeconfigs,
          log,
          records: deps.hosts.list,
          event,
        });
        // Most effects come back as an event of a cache; those on Secrets do not.
        return { requeueAfterMs: AFTER_EFFECTS_MS };
      }
      // What is known of it from before an operation says nothing of what that leaves.
      if (outcome.kind === 'accept') kubeconfigs.forget(key);
      const accepted =
        outcome.kind === 'accept'
          ? await acceptedOperation(snapshot, outcome, { anchors, client })
          : undefined;
      return await finish(client, snapshot, outcome, accepted);
    } catch (error) {
      if (error instanceof Refusal) {
        // Nothing that a user asked is held up.
        const isOurs = signal === 'reset-due';
        const next: Outcome = isOurs ? { kind: 'wait', ms: REFUSED_RESET_MS } : refused(snapshot, error);
        return finish(client, snapshot, next);
      }
      // Somebody wrote meanwhile: their change wakes us, and this decision is void.
      if (isConflict(error) || (isNotFound(error) && !clusters.get(key))) return { requeueAfterMs: 200 };
      // A quota, a policy, a right that is missing: it ends nothing, for whoever made the rule can lift it.
      const isDenied = isApiError(error, 'Forbidden', 'Invalid');
      deps.queue.release(cluster, isDenied ? 0 : GIVEN_BACK_MS);
      if (!isDenied) throw error;
      log.warn({ error: error.message }, 'the API server denies a write');
      return finish(client, snapshot, stalled({ reason: 'Denied', message: error.message }));
    }
  }

  async function finish(
    client: Client,
    snapshot: Snapshot,
    outcome: Outcome,
    accepted?: OperationStatus,
  ): Promise<ReconcileResult> {
    const written = await writeStatus(client, snapshot, outcome, accepted);
    if (written) tell(snapshot.cluster, written, outcome, accepted);
    return outcome.kind === 'wait' ? { requeueAfterMs: outcome.ms } : undefined;
  }

  /** Events come after the write that they tell of. */
  function tell(
    before: KubernetesCluster,
    cluster: KubernetesCluster,
    outcome: Outcome,
    accepted?: OperationStatus,
  ): void {
    for (const { type, reason, message } of healthEvents(
      before.status?.conditions,
      cluster.status?.conditions,
    ))
      deps.event(cluster, type, reason, message);
    for (const { reason, message } of remediationEvents(
      before.status?.conditions,
      cluster.status?.conditions,
    ))
      deps.event(cluster, 'Warning', reason, message);
    if (accepted)
      deps.event(cluster, 'Normal', 'Accepted', `${accepted.word}, sequence ${accepted.sequence}`);
    if (outcome.kind === 'move') deps.event(cluster, 'Normal', cluster.status?.phase ?? '', outcome.because);
    if (outcome.kind === 'end' && outcome.result === 'finished')
      deps.event(cluster, 'Normal', 'Finished', `${cluster.status?.operation?.name} is done`);
    if (outcome.kind === 'end' && outcome.result !== 'finished') {
      const type = outcome.result === 'cancelled' ? 'Normal' : 'Warning';
      deps.event(cluster, type, outcome.reason, outcome.message);
    }
    if ('stall' in outcome && outcome.stall) {
      // What was only to be planned stands still as it should.
      const type = outcome.stall.reason === 'DryRun' ? 'Normal' : 'Warning';
      deps.event(cluster, type, outcome.stall.reason, outcome.stall.message);
    }
  }

  return createController({
    name: 'kubernetescluster',
    for: clusters,
    urgent: isWaitedFor,
    watches: [
      watching(deps.hosts, clusterKeyOf),
      ...deps.installer.caches.map((informer) => watching(informer, clusterKeyOf)),
      ...deps.others.map((informer) => watching(informer, clusterKeyOf)),
    ],
    workers: deps.workers,
    observe: deps.observe,
    log: deps.log,
    clock,
    reconcile,
  });
}

/** Something was asked that is not done: at a start such clusters come before those that only exist. */
const isWaitedFor = ({ metadata, status }: KubernetesCluster): boolean =>
  metadata.deletionTimestamp !== undefined ||
  status?.observedGeneration !== metadata.generation ||
  (status?.operation !== undefined && status.operation.result === undefined) ||
  askedWord(metadata.annotations?.[annotations.operation]) !== undefined;

/** What a refused effect means: the end of a running operation, or a wait before one is accepted. */
function refused(snapshot: Snapshot, { reason, message }: Refusal): Outcome {
  return inFlight(snapshot)
    ? { kind: 'end', result: 'failed', reason, message }
    : (rehearsalRefused(snapshot, { reason, message }) ?? stalled({ reason, message }));
}

const stalled = (stall: Stall): Outcome => ({ kind: 'wait', ms: REFUSAL_RETRY_MS, stall });
