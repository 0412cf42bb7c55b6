import type { Job, Pod } from '#api/core.ts';
import { marks } from '#api/names.ts';
import type { Blocked } from '../installer.ts';

/** What a container waits for that will not come by itself (the kubelet's reasons of state.waiting), and what helps. */
const IMAGE = /^(ErrImagePull|ImagePullBackOff|InvalidImageName|ErrImageNeverPull|RegistryUnavailable)$/;
const CONTAINER = /^(CreateContainer\w*Error|RunContainerError)$/;

const MEND = {
  image:
    'push the image to a registry that the node can reach, or set another one for the controller (MATRYOSHKA_RUNNER_IMAGE); the Job then continues by itself',
  container: 'correct what the node reports; the node tries again by itself',
  room: 'make room on a node; it is placed by itself',
  quota: 'lift what forbids it; its Job tries again by itself',
} as const;

/** Whether the Job was made with another image than its successors get: what is set cannot reach it any more. */
function isOutdated({ metadata }: Job, image: string): boolean {
  const made = metadata.annotations?.[marks.image];
  return made !== undefined && made !== image;
}

/** Why a pod cannot begin: nowhere to be placed, no image, no volume. `image`: that of Jobs that are made now. */
export function blockedBy(job: Job, pod: Pod, image: string): Blocked | undefined {
  const unplaced = pod.status?.conditions?.find(
    ({ type, status }) => type === 'PodScheduled' && status === 'False',
  );
  if (unplaced?.reason !== undefined)
    return { reason: unplaced.reason, message: unplaced.message ?? '', mend: MEND.room };
  for (const { state } of pod.status?.containerStatuses ?? []) {
    const { reason = '', message = '' } = state?.waiting ?? {};
    if (IMAGE.test(reason))
      return isOutdated(job, image)
        ? { reason, message, mend: MEND.image, outdated: true }
        : { reason, message, mend: MEND.image };
    if (CONTAINER.test(reason)) return { reason, message, mend: MEND.container };
  }
  return undefined;
}

/** Why a Job has no pod, as its controller says: a quota, a policy. */
export const podRefused = (message: string): Blocked => ({
  reason: 'FailedCreate',
  message,
  mend: MEND.quota,
});
