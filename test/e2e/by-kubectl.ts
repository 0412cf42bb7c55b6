import { findCondition } from '#api/conditions.ts';
import { SECRETS, secretData } from '#api/core.ts';
import type { HostEntry } from '#api/host.ts';
import { HOSTS, type HostRecord } from '#api/host-record.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { kubectl } from '#lab/kubectl.ts';
import { untilCluster } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { QUICK_KEYS } from './quick-keys.ts';

const KEYS = 'kubectl-keys';

export interface Wanted {
  masters: readonly HostEntry[];
  workers?: readonly HostEntry[];
  /** Operation annotation. Default: only the spec is applied. */
  word?: string;
  requestId?: string;
  secret?: string;
  /** `spec.addons.network`. */
  network?: string;
  cidrs?: { podCIDR: string; serviceCIDR: string };
  externalLoadBalancer?: string;
}

/** Simulates a user at a shell: applied files, `kubectl wait`, `kubectl get`. */
export function byKubectl(meta: Meta, name: string) {
  const run = (args: readonly string[], options?: Parameters<typeof kubectl>[2]) =>
    kubectl(meta.kubeconfigPath, args, options);
  const manifest = ({
    masters,
    workers = [],
    word,
    requestId,
    secret = KEYS,
    network,
    cidrs,
    ...more
  }: Wanted) => ({
    apiVersion: 'ecs.yun.com/v1',
    kind: 'KubernetesCluster',
    metadata: {
      name,
      namespace: 'default',
      annotations: {
        ...(word === undefined ? {} : { [annotations.operation]: word }),
        ...(requestId === undefined ? {} : { [annotations.requestId]: requestId }),
      },
    },
    spec: {
      cluster: {
        masterList: masters,
        nodeList: workers,
        credentialsSecret: secret,
        kubeadm: QUICK_KEYS,
        ...cidrs,
        ...more,
      },
      ...(network === undefined ? {} : { addons: { network } }),
    },
  });
  return {
    run,
    async giveKeys(named = KEYS, more: Record<string, string> = {}): Promise<void> {
      const data = secretData({ username: 'root', 'ssh-privatekey': meta.privateKey, ...more });
      const secret = { metadata: { namespace: 'default', name: named }, data };
      await meta.client.apply(SECRETS, secret, { fieldManager: 'e2e', force: true });
    },
    apply: (wanted: Wanted) => run(['apply', '-f', '-'], { input: JSON.stringify(manifest(wanted)) }),
    /** Waits for the last request with the command of docs/tasks/README.md. */
    waitUpToDate: (seconds = 240) =>
      run(['wait', `ecs/${name}`, '--for=condition=UpToDate', `--timeout=${seconds}s`], {
        timeoutMs: (seconds + 10) * 1_000,
      }),
    untilStalled: (reason: string, timeoutMs: number) =>
      untilCluster(
        meta,
        name,
        (one) => findCondition(one?.status?.conditions, 'Stalled')?.reason === reason,
        timeoutMs,
      ),
    untilGone: (timeoutMs: number) => untilCluster(meta, name, (one) => one === undefined, timeoutMs),
    get: async (): Promise<KubernetesCluster | undefined> => untilCluster(meta, name, () => true, 10_000),
    async records(): Promise<Record<string, HostRecord>> {
      const { items } = await meta.client.list<HostRecord>(HOSTS, { namespace: 'matryoshka-system' });
      return Object.fromEntries(items.map((record) => [record.spec.ip, record]));
    },
  };
}
