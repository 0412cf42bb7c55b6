import { textOf } from '#api/cluster-facts.ts';
import type { Secret } from '#api/core.ts';
import { type HostRecord, hostRecordName } from '#api/host-record.ts';
import type { KubernetesCluster, OperationStatus } from '#api/kubernetes-cluster.ts';
import type { KubeObject, ObjectKey } from '#api/meta.ts';
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { InstallerModule } from '#installer/installer.ts';
import type { Offer } from '#operations/resolve.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import { keyOf } from '#runtime/cache/object-key.ts';
import type { Client } from '#runtime/client/client.ts';
import { scopedClient } from '#runtime/client/scoped-client.ts';
import type {
  ControllerObserver,
  ReconcileContext,
  ReconcileResult,
} from '#runtime/controller/controller.ts';
import { isApiError, isConflict, isNotFound } from '#runtime/wire/api-error.ts';
import { acceptedOperation } from './accept.ts';
import type { Outcome, Stall } from './decide/outcome.ts';
import { Refusal, Undecided } from './decide/refusal.ts';
import { rehearsalRefused } from './decide/rest/dry-run.ts';
import { REFUSED_RESET_MS } from './decide/rest/reset-left.ts';
import { type Health, inFlight, type Snapshot } from './decide/snapshot.ts';
import { decide } from './decide/table.ts';
import type { EffectDeps } from './effects/effect.ts';
import { perform } from './effects/perform.ts';
import { emitEvents } from './events.ts';
import { observe } from './observe.ts';
import type { FleetQueue } from './queue/fleet-queue.ts';
import { clusterStatesIn } from './state/cluster-state.ts';
import { hostsIn } from './state/hosts.ts';
import { metaNodeLister } from './state/known-machines.ts';
import { createKubeconfigs } from './state/kubeconfigs.ts';
import { snapshotAccessOf } from './state/snapshot-access.ts';
import { writeStatus } from './status.ts';
import { finishVanished } from './vanished.ts';

export const BY_CLUSTER = 'clusterId';

/** Indexers of the informer of Host records. */
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
  /** Returns the latest probe report about a created cluster. */
  healthOf(cluster: KubernetesCluster): Health;
  /** Decides which clusters may begin an operation. */
  queue: FleetQueue;
  clusters: Informer<KubernetesCluster>;
  /** Host records of the operator's namespace, with `hostIndexers`. */
  hosts: Informer<HostRecord>;
  /** Returns the cluster state Secret from the cache. */
  clusterStateOf(clusterId: string): Secret | undefined;
  /** Returns the cluster state Secrets and tombstones of an object, by its `namespace/name`, from the cache. */
  clusterStatesOf(cluster: string): readonly KubeObject[];
  /** Further objects marked with a cluster (logs, cluster state Secrets) whose changes concern it. */
  others: readonly Informer<KubeObject>[];
  /** PersistentVolumeClaim for snapshots of clusters that name no other storage. */
  snapshotClaim?: string | undefined;
  addSpan?: EffectDeps['addSpan'];
  workers: number;
  observe?: ControllerObserver | undefined;
  /** Emits an Event of the cluster. */
  event(cluster: KubernetesCluster, type: 'Normal' | 'Warning', reason: string, message: string): void;
}

/** The pause after a refusal or a denial, which a user must fix. */
const REFUSAL_RETRY_MS = 30_000;
const AFTER_EFFECTS_MS = 100;
/** Interval of attempts to hold hosts that another cluster checks. */
const HOSTS_RETRY_MS = 3_000;
/** Time that an operation whose start fails keeps its place: its Job may exist unseen. */
const GIVEN_BACK_MS = 60_000;

/** Returns the reconcile function: observe, decide, perform, write status. */
export function reconciler(
  deps: ClusterControllerDeps,
  waitingForHosts: Map<string, ObjectKey>,
): (key: ObjectKey, context: ReconcileContext) => Promise<ReconcileResult> {
  const { namespace, clock, clusters } = deps;
  const kubeconfigs = createKubeconfigs(clock);
  const metaNodes = metaNodeLister(clock);
  const hostsOf = (clusterId: string) => deps.hosts.byIndex(BY_CLUSTER, clusterId);

  async function reconcile(key: ObjectKey, context: ReconcileContext): Promise<ReconcileResult> {
    // Each reconcile has its own client: no call outlives it, and the caches must show all its writes before the next.
    const client = scopedClient(deps.client, context);
    const { log } = context;
    waitingForHosts.delete(textOf(key));
    const clusterStates = clusterStatesIn(client, namespace, deps.clusterStateOf);
    const hosts = hostsIn(client, namespace, deps.hosts.get);
    const installer = deps.installer.over(client);
    const cluster = clusters.get(key);
    if (!cluster) {
      kubeconfigs.forget(key);
      const { clusterStatesOf } = deps;
      return finishVanished(key, {
        client,
        clusterStates,
        hosts,
        installer,
        clusterStatesOf,
        log,
      });
    }
    const snapshot = await observe(cluster, {
      client,
      clock,
      offer: deps.offer,
      installer,
      kubeconfigs,
      clusterStates,
      hostsOf,
      recordAt: (ip) => deps.hosts.get({ namespace, name: hostRecordName(ip) }),
      healthOf: deps.healthOf,
      turnOf: deps.queue.turnOf,
    });
    const snapshotAccess: EffectDeps['snapshotAccess'] = (wanted) =>
      snapshotAccessOf(
        { client, clusterStates, claim: deps.snapshotClaim },
        cluster,
        snapshot.clusterId,
        wanted,
      );
    const { signal, outcome } = decide(snapshot);
    if (isHeldUp(snapshot, outcome)) deps.queue.release(cluster);
    log.debug({ signal, outcome: outcome.kind }, 'decided');
    // Clusters that still wait come before the leftovers of finished work.
    if (signal === 'leftovers' && !context.behind) return { requeueAfterMs: AFTER_EFFECTS_MS, behind: true };
    try {
      if (outcome.kind === 'act') {
        const event: EffectDeps['event'] = (type, reason, message) =>
          deps.event(cluster, type, reason, message);
        await perform(outcome.effects, snapshot, {
          client,
          clusterStates,
          hosts,
          installer,
          kubeconfigs,
          log,
          records: deps.hosts.list,
          metaNodes: () => metaNodes(client),
          snapshotAccess,
          addSpan: deps.addSpan,
          event,
        });
        // Most effects return as an event of a cache; those on Secrets do not.
        return { requeueAfterMs: AFTER_EFFECTS_MS };
      }
      // A new operation may change the kubeconfig, so the remembered one does not count.
      if (outcome.kind === 'accept') kubeconfigs.forget(key);
      const accepted =
        outcome.kind === 'accept'
          ? await acceptedOperation(snapshot, outcome, { clusterStates, client })
          : undefined;
      return await finish(client, snapshot, outcome, accepted);
    } catch (error) {
      return afterError(client, snapshot, signal, error, log);
    }
  }

  /** Writes the status after a refusal or a denial. Throws errors that a retry may fix. */
  async function afterError(
    client: Client,
    snapshot: Snapshot,
    signal: string,
    error: unknown,
    log: ReconcileContext['log'],
  ): Promise<ReconcileResult> {
    const { cluster } = snapshot;
    if (error instanceof Refusal) {
      // The controller requested this scale-down itself, so no user's request is blocked.
      const isOurs = signal === 'reset-due';
      return finish(
        client,
        snapshot,
        isOurs ? { kind: 'wait', ms: REFUSED_RESET_MS } : refused(snapshot, error),
      );
    }
    if (error instanceof Undecided) {
      deps.queue.release(cluster, GIVEN_BACK_MS);
      waitingForHosts.set(textOf(keyOf(cluster)), keyOf(cluster));
      const waitsFor = `waits for hosts that another cluster prechecks: ${error.message}`;
      return finish(client, snapshot, { kind: 'wait', ms: HOSTS_RETRY_MS, waitsFor });
    }
    // Another client wrote meanwhile. Its change starts a reconcile, and this decision is void.
    if (isConflict(error) || (isNotFound(error) && !clusters.get(keyOf(cluster))))
      return { requeueAfterMs: 200 };
    // A quota, a policy or a missing permission does not end an operation, since an administrator can fix it.
    const isDenied = isApiError(error, 'Forbidden', 'Invalid');
    deps.queue.release(cluster, isDenied ? 0 : GIVEN_BACK_MS);
    if (!isDenied) throw error;
    log.warn({ error: error.message }, 'the API server denies a write');
    return finish(client, snapshot, stalled({ reason: 'Denied', message: error.message }));
  }

  async function finish(
    client: Client,
    snapshot: Snapshot,
    outcome: Outcome,
    accepted?: OperationStatus,
  ): Promise<ReconcileResult> {
    const written = await writeStatus(client, snapshot, outcome, accepted);
    if (written)
      emitEvents(
        (type, reason, message) => deps.event(written, type, reason, message),
        snapshot.cluster,
        written,
        outcome,
        accepted,
      );
    return outcome.kind === 'wait' ? { requeueAfterMs: outcome.ms } : undefined;
  }

  return reconcile;
}

/** Whether a cluster has a place in the queue that no run or hook uses. */
function isHeldUp({ attempt, hook, turn }: Snapshot, outcome: Outcome): boolean {
  const isAtWork = attempt.kind !== 'absent' || (hook !== undefined && hook.state.kind !== 'absent');
  const waits = outcome.kind === 'rest' || (outcome.kind === 'wait' && !outcome.keepsPlace);
  return !isAtWork && waits && turn.kind === 'now';
}

/** Returns the outcome of a refused effect: the end of a running operation, or a wait before one is accepted. */
function refused(snapshot: Snapshot, { reason, message }: Refusal): Outcome {
  return inFlight(snapshot)
    ? { kind: 'end', result: 'failed', reason, message }
    : (rehearsalRefused(snapshot, { reason, message }) ?? stalled({ reason, message }));
}

const stalled = (stall: Stall): Outcome => ({ kind: 'wait', ms: REFUSAL_RETRY_MS, stall });
