import type { Job, Pod } from '#api/core.ts';
import { internalAnnotations } from '#api/names.ts';
import type { Blocked } from '../installer.ts';

/** Waiting reasons of a container that need a user (the kubelet's state.waiting), and the remediation of each. */
const IMAGE = /^(ErrImagePull|ImagePullBackOff|InvalidImageName|ErrImageNeverPull|RegistryUnavailable)$/;
const CONTAINER = /^(CreateContainer\w*Error|RunContainerError)$/;

const MEND = {
  image:
    'push the image to a registry that the node can reach, or set another one for the controller (MATRYOSHKA_RUNNER_IMAGE); the Job then continues by itself',
  container: 'correct what the node reports; the node tries again by itself',
  room: 'make room on a node; it is placed by itself',
  quota: 'lift what forbids it; its Job tries again by itself',
} as const;

/** Whether the Job has an older image than new Jobs get, so that a changed setting cannot reach it. */
function isOutdated({ metadata }: Job, image: string): boolean {
  const made = metadata.annotations?.[internalAnnotations.image];
  return made !== undefined && made !== image;
}

/** Returns the reason why a pod cannot begin: no node, no image, no volume. `image`: that of new Jobs. */
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

/** Returns the reason why a Job has no pod, from its controller's message: a quota, a policy. */
export const podRefused = (message: string): Blocked => ({
  reason: 'FailedCreate',
  message,
  mend: MEND.quota,
});
