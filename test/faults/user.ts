import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { ObjectKey } from '#api/meta.ts';
import { annotations } from '#api/names.ts';
import { isResultWord } from '#api/words.ts';
import type { Client } from '#runtime/client.ts';
import type { Step } from './plan.ts';
import type { Quiet } from './quiet.ts';

let taken = 0;

/** Who asks for things: one cluster of one master and some workers, at addresses that no other plan has. */
export interface User {
  ask(word: string, requestId: string, ...workers: number[]): Promise<void>;
  remove(): Promise<void>;
  /** One more worker, declared and not asked for. */
  addWorker(): Promise<void>;
  /** Hosts that the cluster has when the step is done. */
  hosts(step: Step): string[];
  /** Every host that may have been touched. */
  every(): string[];
}

export function userOf(client: Client, quiet: Quiet, key: ObjectKey): User {
  taken += 1;
  const net = taken;
  const ip = (last: number) => `10.${net >> 8}.${net & 255}.${last}`;
  const host = (last: number) => ({ ip: ip(last) });
  let workers: number[] = [];
  /** Declared by somebody else than whoever asks: server-side apply leaves it in the list (SSA, list type map). */
  let declared: number[] = [];
  return {
    async ask(word, requestId, ...wanted) {
      workers = [...wanted, ...declared];
      const nodeList = wanted.map(host);
      const cluster: KubernetesCluster = {
        metadata: {
          ...key,
          annotations: { [annotations.operation]: word, [annotations.requestId]: requestId },
        },
        spec: {
          cluster: {
            masterList: [host(1)],
            nodeList,
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
    async remove() {
      await client.delete(KUBERNETES_CLUSTERS, key);
    },
    async addWorker() {
      declared = [9];
      workers = [...new Set([...workers, ...declared])];
      const patch = { spec: { cluster: { nodeList: workers.map(host) } } };
      quiet.expect(await client.patch(KUBERNETES_CLUSTERS, key, patch, { type: 'merge' }));
    },
    hosts: (step) => (step === 'delete' ? [] : [1, ...workers].map(ip)),
    every: () => [1, 2, 3, 9].map(ip),
  };
}

const rests = (cluster: KubernetesCluster | undefined): boolean =>
  isResultWord(cluster?.metadata.annotations?.[annotations.operation] ?? '') &&
  cluster?.status?.phase === 'Running' &&
  cluster.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;

export const STEPS_DO: Readonly<
  Record<Step, { ask(user: User): Promise<void>; done(cluster: KubernetesCluster | undefined): boolean }>
> = {
  refused: {
    ask: (user) => user.ask('creating', 'first', 2),
    done: (cluster) =>
      cluster?.metadata.annotations?.[annotations.operation] === 'create-failed' &&
      cluster.status?.phase === 'Failed',
  },
  create: { ask: (user) => user.ask('creating', 'again', 2), done: rests },
  up: { ask: (user) => user.ask('scaling-up', 'up', 2, 3), done: rests },
  down: { ask: (user) => user.ask('scaling-down', 'down', 2), done: rests },
  delete: { ask: (user) => user.remove(), done: (cluster) => cluster === undefined },
};
