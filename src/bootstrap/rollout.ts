import { PODS, type Pod } from '#api/core.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { sleep } from '#base/clock.ts';
import type { Client } from '#runtime/client/client.ts';

export const DEPLOYMENTS: Resource = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
};
const READY_MS = 180_000;
const TELL_MS = 5_000;
const CHECK_MS = 500;

interface Deployment extends KubeObject {
  status?: {
    observedGeneration?: number;
    updatedReplicas?: number;
    availableReplicas?: number;
    replicas?: number;
  };
  spec?: { replicas?: number };
}

/** Lists the Deployments in the namespace; add-ons have separate namespaces, and may wait for a user's settings. */
export const deploymentsIn = (objects: readonly KubeObject[], namespace: string): string[] =>
  objects.flatMap(({ kind, metadata: { name, namespace: of } }) =>
    kind === 'Deployment' && of === namespace && name !== undefined ? [name] : [],
  );

/** Waits like `kubectl rollout status`, and reports every 5 s what it waits for and why. Throws after three minutes. */
export async function deploymentsReady(
  client: Client,
  namespace: string,
  names: readonly string[],
  print: (line: string) => void,
): Promise<void> {
  const until = performance.now() + READY_MS;
  let reported = performance.now();
  for (;;) {
    const found = await Promise.all(
      names.map((name) => client.get<Deployment>(DEPLOYMENTS, { namespace, name })),
    );
    const waiting = found.filter((one) => !ready(one)).map(({ metadata }) => metadata.name ?? '');
    if (waiting.length === 0) return;
    const late = performance.now() > until;
    if (late || performance.now() - reported > TELL_MS) {
      const { items } = await client.list<Pod>(PODS, { namespace });
      const list = waiting.map((name) => `${name} (${whyNotReady(items, name)})`).join(', ');
      if (late)
        throw new Error(
          `not ready after ${READY_MS / 1000} s: ${list}; see "kubectl -n ${namespace} describe pods"`,
        );
      print(`waiting for ${list}`);
      reported = performance.now();
    }
    await sleep(CHECK_MS);
  }
}

function ready({ metadata, spec, status = {} }: Deployment): boolean {
  const replicas = spec?.replicas ?? 1;
  return (
    status.observedGeneration === metadata.generation &&
    status.updatedReplicas === replicas &&
    status.availableReplicas === replicas &&
    status.replicas === replicas
  );
}

/** Returns the reason why the youngest pod of that app is not ready: its node, its image, its start, or its probe. */
export function whyNotReady(pods: readonly Pod[], app: string): string {
  const born = ({ metadata }: Pod) => metadata.creationTimestamp ?? '';
  const pod = pods
    .filter(({ metadata }) => metadata.labels?.['app'] === app)
    .sort((a, b) => born(b).localeCompare(born(a)))[0];
  if (!pod) return 'no pod yet';
  for (const { state } of pod.status?.containerStatuses ?? []) {
    const { reason, message } = state?.waiting ?? {};
    if (reason !== undefined) return message === undefined ? reason : `${reason}: ${message}`;
  }
  const unmet = pod.status?.conditions?.find(
    ({ status, message }) => status === 'False' && message !== undefined,
  );
  return unmet?.message ?? pod.status?.phase ?? 'no status yet';
}
