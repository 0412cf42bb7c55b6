/** Probes created clusters over their API servers. `judge` decides what a probe means; nothing is written. */

import { appliedOperation, isDryRun, keyOf, operationUnderWay, textOf } from '#api/cluster-facts.ts';
import { findCondition } from '#api/conditions.ts';
import type { HostRecord } from '#api/host-record.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { ObjectKey } from '#api/meta.ts';
import { annotations } from '#api/names.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import type { Client } from '#runtime/client/client.ts';
import { scopedClient } from '#runtime/client/scoped-client.ts';
import {
  type Controller,
  type ControllerObserver,
  createController,
} from '#runtime/controller/controller.ts';
import type { Health, Verdict } from '../decide/snapshot.ts';
import { HEALTH_CONDITIONS, isObserved } from '../decide/status/health.ts';
import { expectedOf } from './expected.ts';
import { type Absence, absenceAfter } from './judge/absence.ts';
import { debounce } from './judge/debounce.ts';
import { judge } from './judge/judge.ts';
import { MAX_PAUSE_MS, pauseMs } from './judge/pace.ts';
import type { Seen } from './judge/seen.ts';
import { probe } from './probe.ts';
import { readAccess } from './secret.ts';

export interface HealthSettings {
  /** Time between two probes of a cluster. */
  intervalMs: number;
  /** Time limit of one probe. */
  deadlineMs: number;
  /** Most clusters that are probed at once. */
  workers: number;
  /** Port of the API servers. Default 6443, the port that kubeadm uses. */
  port?: number;
  /** Returns a number in [0, 1). */
  random?: () => number;
}

export interface HealthDeps extends HealthSettings {
  client: Client;
  clock: Clock;
  log: Logger;
  clusters: Informer<KubernetesCluster>;
  /** Returns the Host records with the id, from the cache. */
  hostsOf(clusterId: string): readonly HostRecord[];
  observe?: ControllerObserver | undefined;
  /** Called when the report about a cluster changes. */
  wake(key: ObjectKey): void;
}

export interface HealthObserver {
  /** Probes clusters while it runs. */
  readonly controller: Controller;
  /** Returns the latest report about a cluster. */
  of(cluster: KubernetesCluster): Health;
}

/** The data about a cluster that is kept between two probes. */
interface Memory {
  uid: string | undefined;
  /** Sequence of the operation that had ended at the last probe; after a newer one the cluster is probed at once. */
  ended: number;
  reported: Verdict;
  last?: Verdict;
  /** Number of consecutive probes that no API server answered. */
  silent: number;
  dueMs: number;
  sizeDueMs: number;
  databaseBytes?: number | undefined;
  /** When the certificates of API servers expire, by address: a silent server has not lost its certificate. */
  ends: ReadonlyMap<string, Date>;
  /** Not kept over a restart: the absence starts over then. */
  away?: Absence | undefined;
}

const SIZE_EVERY_MS = 600_000;
/** Additional time of a probe for reading the kubeconfig. */
const READ_MS = 15_000;

/**
 * Probes every created cluster repeatedly, with the kubeconfig that is stored for it. Writes nothing: it triggers the
 * cluster controller, which reads the report.
 */
export function healthObserver(deps: HealthDeps): HealthObserver {
  const { clock, clusters, intervalMs, deadlineMs, workers, port = 6443, random = Math.random } = deps;
  const memories = new Map<string, Memory>();
  const memoryOf = (cluster: KubernetesCluster): Memory | undefined => {
    const memory = memories.get(textOf(keyOf(cluster)));
    return memory?.uid === cluster.metadata.uid ? memory : undefined;
  };

  /** Starts with the conditions in status, so that a restart of the controller is no change. */
  function begin(cluster: KubernetesCluster): Memory {
    const { conditions = [], nodes } = cluster.status ?? {};
    const types = ['Ready', ...HEALTH_CONDITIONS];
    const stated = conditions
      .filter(({ type }) => types.includes(type))
      .map(({ type, status, reason, message }) => ({ type, status, reason, message }));
    // A fleet that exists at the start is probed over one interval; a cluster without health conditions at once.
    const known = findCondition(conditions, 'ControlPlaneHealthy') !== undefined;
    const nowMs = clock.monotonicMs();
    return {
      uid: cluster.metadata.uid,
      ended: endedOf(cluster),
      reported: { conditions: stated, ...(nodes ? { nodes } : {}) },
      silent: 0,
      dueMs: known ? nowMs + random() * intervalMs : nowMs,
      sizeDueMs: nowMs,
      ends: new Map(),
    };
  }

  async function see(cluster: KubernetesCluster, memory: Memory, client: Client, signal: AbortSignal) {
    const hosts = expectedOf(cluster, deps.hostsOf(idOf(cluster)));
    const ips = hosts.filter(({ controlPlane, joined }) => controlPlane && joined).map(({ ip }) => ip);
    const withSize = clock.monotonicMs() >= memory.sizeDueMs;
    const access = await readAccess(client, cluster, { signal, timeoutMs: READ_MS });
    const seen: Seen =
      'reason' in access
        ? { blind: access, servers: [] }
        : ips.length === 0
          ? { blind: NO_CONTROL_PLANE, servers: [] }
          : await probe({ access, ips, port, deadlineMs, clock, signal, withSize });
    const databaseBytes = seen.databaseBytes ?? memory.databaseBytes;
    const servers = seen.servers.map((server) => ({
      ...server,
      certificateEnds: server.certificateEnds ?? memory.ends.get(server.ip),
    }));
    const ends = new Map(
      servers.flatMap(({ ip, certificateEnds }) => (certificateEnds ? [[ip, certificateEnds]] : [])),
    );
    const changing = operationUnderWay(cluster) !== undefined;
    const isSilent = servers.every(({ state }) => state === 'silent');
    const last = judge({ ...seen, servers, databaseBytes, changing }, hosts, clock.now());
    const next: Memory = {
      ...memory,
      ended: endedOf(cluster),
      last,
      // While the user pauses the cluster no absence counts: the user may have taken the host away.
      away:
        cluster.spec.paused || isDryRun(cluster)
          ? undefined
          : absenceAfter(memory.away, last, { atMs: clock.monotonicMs(), maxGapMs: 2 * MAX_PAUSE_MS }),
      // A server that could not be asked was not silent.
      silent: isSilent && !seen.blind ? memory.silent + 1 : 0,
      sizeDueMs: withSize && !isSilent ? clock.monotonicMs() + SIZE_EVERY_MS : memory.sizeDueMs,
      databaseBytes,
      ends,
    };
    return next;
  }

  const controller = createController<KubernetesCluster>({
    name: 'kubernetescluster-health',
    for: clusters,
    predicates: [({ before, after }) => !before || !after || annotationsOf(before) !== annotationsOf(after)],
    workers,
    deadlineMs: deadlineMs + READ_MS + 5_000,
    observe: deps.observe,
    log: deps.log,
    clock,
    async reconcile(key, context) {
      const cluster = clusters.get(key);
      if (!cluster || !isObserved(cluster)) return void memories.delete(textOf(key));
      const memory = memoryOf(cluster) ?? begin(cluster);
      memories.set(textOf(key), memory);
      const restMs = memory.dueMs - clock.monotonicMs();
      const ended = endedOf(cluster);
      // The cluster is probed at once after an operation, and then at the usual pace.
      if (restMs > 0 && (ended === 0 || ended === memory.ended)) return { requeueAfterMs: restMs };
      const client = scopedClient(deps.client, context);
      const seen = await see(cluster, memory, client, context.signal);
      // A probe that the controller's own shutdown interrupted says nothing about the cluster.
      context.signal.throwIfAborted();
      const present = clusters.get(key);
      if (!present || present.metadata.uid !== memory.uid || !isObserved(present))
        return void memories.delete(textOf(key));
      const waitMs = pauseMs(seen.silent, { intervalMs, random });
      const reported = seen.last ? debounce(memory.reported, memory.last, seen.last) : memory.reported;
      memories.set(textOf(key), { ...seen, reported, dueMs: clock.monotonicMs() + waitMs });
      const isNews = canonicalJson(reported) !== canonicalJson(memory.reported);
      // A replacement becomes due by time alone, and only a probe measures that time.
      if (isNews || seen.away) deps.wake(key);
      return { requeueAfterMs: waitMs };
    },
  });

  return {
    controller,
    of(cluster) {
      const memory = memoryOf(cluster);
      if (!memory?.last) return { kind: 'unseen' };
      const { reported: verdict, away } = memory;
      return {
        kind: 'seen',
        verdict,
        // No probe has run since the last operation.
        away:
          away && memory.ended === endedOf(cluster)
            ? { ip: away.ip, forMs: away.atMs - away.sinceMs }
            : undefined,
      };
    },
  };
}

const NO_CONTROL_PLANE = {
  reason: 'NoControlPlane',
  message: 'no host is on record as a control plane that has joined',
} as const;

const idOf = ({ metadata }: KubernetesCluster): string => metadata.annotations?.[annotations.clusterId] ?? '';

/** Returns the sequence of the operation that ended; 0 while one runs. */
function endedOf({ status }: KubernetesCluster): number {
  return status?.operation?.result === undefined ? 0 : status.operation.sequence;
}

/** Returns the metadata that starts or ends observation, or triggers a probe at once. */
const annotationsOf = (cluster: KubernetesCluster): string =>
  canonicalJson([isObserved(cluster), idOf(cluster), endedOf(cluster), appliedOperation(cluster)?.sequence]);
