import { clusterHostsOf } from '#api/cluster-host.ts';
import type { HostEntry } from '#api/host.ts';
import type { Kubeadm } from '#api/kubeadm.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { ObjectKey } from '#api/meta.ts';
import { annotations } from '#api/names.ts';
import { isResultValue } from '#api/operation-values.ts';
import type { Client } from '#runtime/client/client.ts';
import { AWAY } from './away.ts';
import type { Step } from './plan.ts';
import type { Quiet } from './quiet.ts';

let taken = 0;

/** Versions that the plans' installation offers. Creations take the first. */
export const OFFERED = ['v1.34.4', 'v1.34.5'] as const;
const [, LATER] = OFFERED;

interface Wanted {
  word?: string;
  requestId: string;
  master?: number;
  workers: readonly HostEntry[];
  /** Hosts that run etcd only. */
  hosts?: readonly HostEntry[];
  kubeVersion?: string;
  kubeadm?: Kubeadm;
  /** The snapshot to restore. */
  snapshot?: { name: string; since: string };
}

/** The user of a plan: one cluster of one master and some workers, at addresses that no other plan has. */
export interface User {
  ask(wanted: Wanted): Promise<void>;
  /** Returns a host of the plan, by the last part of its address. */
  host(last: number, more?: Omit<HostEntry, 'ip'>): HostEntry;
  /** Expects a record of the mistyped host from now on: a lost attempt may have changed it. */
  expectAway(): void;
  remove(): Promise<void>;
  /** Adds one worker to the spec without a request. */
  addWorker(): Promise<void>;
  /** Cancels that operation. */
  cancel(id: string): Promise<void>;
  /** Returns the hosts that the cluster has after the step, with their duties. */
  hosts(step: Step): Map<string, string>;
  /** Returns every host that may have been touched. */
  every(): string[];
}

export function userOf(client: Client, quiet: Quiet, key: ObjectKey): User {
  taken += 1;
  const net = taken;
  const ip = (last: number) => `10.${net >> 8}.${net & 255}.${last}`;
  const host = (last: number, more: Omit<HostEntry, 'ip'> = {}): HostEntry => ({ ip: ip(last), ...more });
  let masterList: HostEntry[] = [];
  let workers: HostEntry[] = [];
  let etcdList: HostEntry[] = [];
  /** Hosts that another field manager declared: server-side apply keeps them in the list (SSA, list type map). */
  let declared: HostEntry[] = [];
  let remembered: [string, string][] = [];
  return {
    host,
    async ask({
      word,
      requestId,
      master = 1,
      workers: nodeList,
      hosts = [],
      kubeVersion,
      kubeadm,
      snapshot,
    }) {
      workers = [...nodeList, ...declared];
      masterList = [host(master)];
      etcdList = [...hosts];
      const cluster: KubernetesCluster = {
        metadata: {
          ...key,
          annotations: {
            ...(word === undefined ? {} : { [annotations.operation]: word }),
            [annotations.requestId]: requestId,
            ...(snapshot
              ? {
                  [annotations.snapshot]: snapshot.name,
                  [annotations.confirmDataLossSince]: snapshot.since,
                }
              : {}),
          },
        },
        spec: {
          cluster: {
            masterList,
            nodeList: [...nodeList],
            ...(etcdList.length > 0 ? { etcdList } : {}),
            ...(kubeVersion === undefined ? {} : { kubeVersion }),
            ...(kubeadm ? { kubeadm } : {}),
            credentialsSecret: 'keys',
            podCIDR: '192.168.0.0/16',
            serviceCIDR: '172.16.0.0/16',
          },
        },
      };
      quiet.expect(
        await client.apply<KubernetesCluster>(KUBERNETES_CLUSTERS, cluster, {
          fieldManager: 'user',
          force: true,
        }),
      );
    },
    expectAway() {
      remembered = [[ip(AWAY), 'worker']];
    },
    async remove() {
      await client.delete(KUBERNETES_CLUSTERS, key);
    },
    async addWorker() {
      declared = [host(9)];
      if (!workers.some((one) => one.ip === ip(9))) workers = [...workers, ...declared];
      const patch = { spec: { cluster: { nodeList: workers } } };
      quiet.expect(await client.patch(KUBERNETES_CLUSTERS, key, patch, { type: 'merge' }));
    },
    async cancel(id) {
      const patch = { metadata: { annotations: { [annotations.cancel]: id } } };
      quiet.expect(await client.patch(KUBERNETES_CLUSTERS, key, patch, { type: 'merge' }));
    },
    hosts(step) {
      const hosts =
        step === 'delete' ? [] : clusterHostsOf({ masterList, nodeList: workers, etcdList }).values();
      // A host that does not answer stays until the next operation is requested (`mayBeGone` in oracles.ts).
      const has = [...hosts].map((host): [string, string] => [host.ip, host.duties.join('+')]);
      return new Map([...has, ...remembered]);
    },
    every: () => [1, 2, 3, 4, 9].map(ip),
  };
}

const rests = (cluster: KubernetesCluster | undefined): boolean =>
  isResultValue(cluster?.metadata.annotations?.[annotations.operation] ?? '') &&
  cluster?.status?.phase === 'Running' &&
  cluster.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;

const said = (cluster: KubernetesCluster | undefined) =>
  cluster?.metadata.annotations?.[annotations.operation];
const ended =
  (word: string) =>
  (cluster: KubernetesCluster | undefined): boolean =>
    said(cluster) === word && cluster?.status?.phase === 'Failed';
/** Node name of both the mistyped and the correct address. */
const W1 = { name: 'w1' };

interface StepDo {
  ask(user: User): Promise<void>;
  done(cluster: KubernetesCluster | undefined): boolean;
  /** Recognizes a refusal that names the next request, and makes that request. */
  refused?: { is(cluster: KubernetesCluster | undefined): boolean; ask(user: User): Promise<void> };
}

export const STEPS_DO: Readonly<Record<Step, StepDo>> = {
  refused: {
    ask: (user) => user.ask({ word: 'creating', requestId: 'first', workers: [user.host(2)] }),
    done: ended('create-failed'),
  },
  cancelled: {
    ask: (user) => user.ask({ word: 'creating', requestId: 'first', workers: [user.host(2)] }),
    done: ended('create-cancelled'),
  },
  create: {
    ask: (user) => user.ask({ word: 'creating', requestId: 'again', workers: [user.host(2)] }),
    done: rests,
  },
  swapped: {
    ask: (user) => user.ask({ word: 'creating', requestId: 'swapped', master: 2, workers: [user.host(1)] }),
    done: rests,
  },
  up: {
    ask: (user) => user.ask({ word: 'scaling-up', requestId: 'up', workers: [user.host(2), user.host(3)] }),
    done: rests,
  },
  mistyped: {
    ask: (user) =>
      user.ask({ word: 'scaling-up', requestId: 'mistyped', workers: [user.host(2), user.host(AWAY, W1)] }),
    done: ended('scale-up-failed'),
  },
  corrected: {
    ask: (user) =>
      user.ask({ word: 'scaling-up', requestId: 'corrected', workers: [user.host(2), user.host(3, W1)] }),
    done: rests,
    // After a lost attempt, it is unknown whether the mistyped host has the node name.
    refused: {
      is: (cluster) =>
        ended('scale-up-failed')(cluster) &&
        cluster?.status?.message?.includes('choose another name') === true,
      ask: (user) => {
        user.expectAway();
        return user.ask({
          word: 'scaling-up',
          requestId: 'renamed',
          workers: [user.host(2), user.host(3, { name: 'w2' })],
        });
      },
    },
  },
  relabel: {
    ask: (user) =>
      user.ask({
        word: 'relabeling',
        requestId: 'relabel',
        workers: [user.host(2, { labels: { 'example.com/rack': 'r1' } })],
      }),
    done: (cluster) => rests(cluster) && said(cluster) === 'relabel-finished',
  },
  replace: {
    ask: (user) => user.ask({ word: 'replacing', requestId: 'replace', workers: [user.host(3)] }),
    done: (cluster) => rests(cluster) && said(cluster) === 'replace-finished',
  },
  move: {
    ask: (user) =>
      user.ask({
        word: 'moving-etcd',
        requestId: 'move',
        workers: [user.host(2)],
        hosts: [user.host(4)],
      }),
    done: (cluster) => rests(cluster) && said(cluster) === 'move-etcd-finished',
  },
  repair: {
    ask: (user) => user.ask({ word: 'repairing', requestId: 'repair', workers: [user.host(2)] }),
    done: (cluster) => rests(cluster) && said(cluster) === 'repair-finished',
  },
  renew: {
    ask: (user) => user.ask({ word: 'renewing', requestId: 'renew', workers: [user.host(2)] }),
    done: (cluster) => rests(cluster) && said(cluster) === 'renew-finished',
  },
  rotate: {
    ask: (user) => user.ask({ word: 'rotating', requestId: 'rotate', workers: [user.host(2)] }),
    done: (cluster) => rests(cluster) && said(cluster) === 'rotate-finished',
  },
  update: {
    ask: (user) =>
      user.ask({ word: 'updating', requestId: 'update', workers: [user.host(2)], kubeVersion: LATER }),
    done: (cluster) =>
      rests(cluster) && said(cluster) === 'update-finished' && cluster?.status?.version === LATER,
  },
  settings: {
    ask: (user) => {
      const kubeadm: Kubeadm = { kubelet: { maxPods: 50 } };
      return user.ask({ word: 'reconfiguring', requestId: 'settings', workers: [user.host(2)], kubeadm });
    },
    done: (cluster) => rests(cluster) && said(cluster) === 'reconfigure-finished',
  },
  halted: {
    ask: (user) =>
      user.ask({ word: 'updating', requestId: 'halted', workers: [user.host(2)], kubeVersion: LATER }),
    done: ended('update-cancelled'),
  },
  undo: {
    ask: (user) => user.ask({ word: 'rollbacking', requestId: 'undo', workers: [user.host(2)] }),
    done: (cluster) => rests(cluster) && said(cluster) === 'rollback-finished',
  },
  save: {
    ask: (user) => user.ask({ word: 'snapshotting', requestId: 'save', workers: [user.host(2)] }),
    done: (cluster) => rests(cluster) && said(cluster) === 'snapshot-finished',
  },
  restore: {
    ask: (user) =>
      user.ask({
        word: 'restoring',
        requestId: 'restore',
        workers: [user.host(2)],
        snapshot: { name: '20261129t020000z-7', since: '2026-11-29T02:00:00Z' },
      }),
    done: (cluster) => rests(cluster) && said(cluster) === 'restore-finished',
  },
  down: {
    ask: (user) => user.ask({ word: 'scaling-down', requestId: 'down', workers: [user.host(2)] }),
    done: rests,
  },
  delete: { ask: (user) => user.remove(), done: (cluster) => cluster === undefined },
};
