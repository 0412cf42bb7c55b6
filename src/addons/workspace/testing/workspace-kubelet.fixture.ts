import { PODS, type Pod } from '#api/core.ts';
import { type Clock, systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { createInformer } from '#runtime/cache/informer.ts';
import { keyOf } from '#runtime/cache/object-key.ts';
import type { Client } from '#runtime/client/client.ts';
import { CLOUD_IDE } from '../api.ts';

/** Clock by which every pod has already waited for long. */
export const lateClock: Clock = {
  ...systemClock,
  now: () => new Date(systemClock.now().getTime() + 25_000),
};

/** States of pods by the last part of their image's name. Other pods stay as they are. */
const STATES: Readonly<Record<string, object>> = {
  editor: {
    phase: 'Running',
    podIP: '10.20.30.40',
    conditions: [{ type: 'Ready', status: 'True' }],
  },
  unpullable: waiting('ImagePullBackOff', 'Back-off pulling image: no such manifest'),
  misnamed: waiting('InvalidImageName', 'couldn’t parse image name'),
  crashing: waiting('CrashLoopBackOff', 'back-off 10s restarting failed container'),
  evicted: { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' },
  homeless: {
    conditions: [
      { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes are available' },
    ],
  },
};
function waiting(reason: string, message: string): object {
  const state = { waiting: { reason, message } };
  return {
    phase: 'Pending',
    containerStatuses: [{ name: 'workspace', image: 'x', imageID: '', ready: false, restartCount: 0, state }],
  };
}
const imageOf = (pod: Pod & { spec?: { containers?: { image?: string }[] } }): string =>
  (pod.spec?.containers?.[0]?.image ?? '').split('/').at(-1)?.split(':')[0] ?? '';

/** Acts as scheduler and kubelet for a namespace's pods of Workspaces. Returns a function that stops it. */
export function runKubelet(client: Client, namespace: string, node: string): () => Promise<void> {
  const ending = new AbortController();
  const pods = createInformer<Pod>({
    client,
    resource: PODS,
    selection: { namespace, labelSelector: `kind=${CLOUD_IDE.kind}` },
    log: createLogger('silent'),
  });
  const seen = new Set<string>();
  const once = (pod: Pod, what: string, act: () => Promise<unknown>): void => {
    const label = `${pod.metadata.uid} ${what}`;
    if (seen.has(label)) return;
    seen.add(label);
    act().catch(() => seen.delete(label));
  };
  const update = (pod: Pod): void => {
    const key = keyOf(pod);
    if (pod.metadata.deletionTimestamp) {
      const { uid } = pod.metadata;
      once(pod, 'end', () => client.delete(PODS, key, { gracePeriodSeconds: 0, preconditions: { uid } }));
      return;
    }
    const status = STATES[imageOf(pod)];
    if (!status) return;
    once(pod, 'begin', async () => {
      if (!('conditions' in status) || 'podIP' in status)
        await client.request('POST', `/api/v1/namespaces/${key.namespace}/pods/${key.name}/binding`, {
          apiVersion: 'v1',
          kind: 'Binding',
          metadata: key,
          target: { apiVersion: 'v1', kind: 'Node', name: node },
        });
      await client.patch(PODS, key, { status }, { type: 'strategic', subresource: 'status' });
    });
  };
  pods.addHandler({ add: update, update: (_before, after) => update(after) });
  const ended = pods.run(ending.signal);
  return async () => {
    ending.abort(new Error('stop'));
    await ended;
  };
}
