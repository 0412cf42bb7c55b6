import { NODES, PODS } from '#api/core.ts';
import { HOSTS } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS } from '#api/kubernetes-cluster.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { messageOf } from '#base/errors.ts';
import { DEPLOYMENTS } from '#bootstrap/rollout.ts';
import { firstEnd } from '#certificates/served-until.ts';
import { apiServersOf } from '#controller/certificate/api-servers.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { isApiError, isForbidden, isNotFound } from '#runtime/wire/api-error.ts';
import type { Finding, InspectInstallation } from '../cli/doctor.ts';

/** Checks an installation in its meta cluster, for `matryoshka doctor`. */

const PROGRAMS = ['controller', 'server', 'webhook', 'artifacts'].map((name) => `matryoshka-${name}`);
const KINDS = [KUBERNETES_CLUSTERS, HOSTS];
/** With the chart, hosts may get artifacts from a mirror. */
const OPTIONAL: ReadonlySet<string> = new Set(['matryoshka-artifacts']);
/** Replicas that bootstrap and the chart give a program. */
const REPLICAS = 2;
const SOON_MS = 30 * 86_400_000;
const REINSTALL =
  'check --operator-namespace; matryoshka bootstrap (docs/tasks/upgrade-meta-cluster.md) or helm upgrade (docs/tasks/install-chart.md), with the options of the installation';
const RENEW =
  'matryoshka bootstrap, with the options of the installation (docs/tasks/upgrade-meta-cluster.md); if another tool made the meta cluster, renew with that tool';

interface Deployment extends KubeObject {
  spec?: { replicas?: number };
  status?: { availableReplicas?: number; updatedReplicas?: number };
}

interface Pod extends KubeObject {
  status?: {
    containerStatuses?: { state?: { waiting?: { reason?: string; message?: string } } }[];
    conditions?: { type: string; status: string; message?: string }[];
  };
}

interface Node extends KubeObject {
  status?: { conditions?: { type: string; status: string; message?: string }[] };
}

/** Returns why a pod of a program does not run, as the kubelet or the scheduler says; '' if neither says anything. */
async function waitingReason(client: Client, namespace: string, name: string): Promise<string> {
  // Without the right to list pods, the doctor still reports the Deployment.
  const pods = await client
    .list<Pod>(PODS, { namespace, labelSelector: `app=${name}` })
    .catch(() => ({ items: [] }));
  for (const { status } of pods.items) {
    const waiting = status?.containerStatuses?.find(({ state }) => state?.waiting)?.state?.waiting;
    if (waiting?.reason !== undefined && waiting.reason !== 'ContainerCreating')
      return `: ${[waiting.reason, waiting.message].filter(Boolean).join(': ')}`;
    const unscheduled = status?.conditions?.find(
      ({ type, status: value }) => type === 'PodScheduled' && value === 'False',
    );
    if (unscheduled?.message) return `: ${unscheduled.message}`;
  }
  return '';
}

async function program(client: Client, namespace: string, name: string): Promise<Finding[]> {
  const what = `deployment ${name}`;
  const one = await client.find<Deployment>(DEPLOYMENTS, { namespace, name });
  if (!one)
    return OPTIONAL.has(name)
      ? []
      : [{ what, problem: `is missing in namespace ${namespace}`, fix: REINSTALL }];
  const wanted = one.spec?.replicas ?? 1;
  const { availableReplicas = 0 } = one.status ?? {};
  if (wanted > 0 && availableReplicas >= wanted) return [];
  if (wanted === 0) {
    const replicas = OPTIONAL.has(name) ? 1 : REPLICAS;
    const fix = `kubectl -n ${namespace} scale deployment/${name} --replicas=${replicas}`;
    return [{ what, problem: 'is scaled to 0', fix }];
  }
  const reason = await waitingReason(client, namespace, name);
  return [
    {
      what,
      problem: `${availableReplicas} of ${wanted} pods are available${reason}`,
      fix: `kubectl -n ${namespace} describe pods -l app=${name}`,
    },
  ];
}

async function installed(client: Client, kind: Resource): Promise<Finding[]> {
  try {
    await client.list(kind, { limit: 1 });
    return [];
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return [{ what: `kind ${kind.kind}`, problem: 'is not installed', fix: REINSTALL }];
  }
}

async function nodes(client: Client): Promise<Finding[]> {
  const { items } = await client.list<Node>(NODES);
  return items.flatMap(({ metadata: { name = '' }, status }) => {
    const ready = status?.conditions?.find(({ type }) => type === 'Ready');
    if (ready?.status === 'True') return [];
    const problem = `is not ready${ready?.message ? `: ${ready.message}` : ''}`;
    return [{ what: `node ${name}`, problem, fix: `kubectl describe node ${name}` }];
  });
}

async function certificates(client: Client, url: string, now: Date): Promise<Finding[]> {
  const end = await firstEnd(await apiServersOf(client, url));
  if (end.getTime() - now.getTime() > SOON_MS) return [];
  return [{ what: 'certificates of the meta cluster', problem: `end at ${end.toISOString()}`, fix: RENEW }];
}

const unchecked = (error: unknown, kubeconfig: string): Finding => ({
  what: 'meta cluster',
  problem: messageOf(error),
  fix: isForbidden(error)
    ? 'use a kubeconfig of an administrator'
    : `check ${kubeconfig}, and the hosts of the meta cluster`,
});

/** Returns the errors, but one alone if the meta cluster is away: then each check fails alike. */
const causesOf = (errors: readonly unknown[]): readonly unknown[] => {
  const away = errors.find((error) => isApiError(error, 'Connection'));
  return away === undefined ? errors : [away];
};

/**
 * Returns the problems of an installation. A meta cluster that does not answer is one, and so is a missing right: every other
 * check is reported all the same.
 */
export const inspectInstallation: InspectInstallation = async (kubeconfig, namespace, now) => {
  const endpoint = await loadEndpoint({ kubeconfig });
  const client = createClient(endpoint, { userAgent: 'matryoshka-doctor' });
  try {
    const checks = await Promise.allSettled([
      ...PROGRAMS.map((name) => program(client, namespace, name)),
      ...KINDS.map((kind) => installed(client, kind)),
      nodes(client),
      certificates(client, endpoint.url, now),
    ]);
    const found = checks.flatMap((check) => (check.status === 'fulfilled' ? check.value : []));
    const errors = checks.flatMap((check) => (check.status === 'fulfilled' ? [] : [check.reason]));
    return [...found, ...causesOf(errors).map((error) => unchecked(error, kubeconfig))];
  } finally {
    await client.close();
  }
};
