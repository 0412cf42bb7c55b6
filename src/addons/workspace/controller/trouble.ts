import type { Pod } from '#api/core.ts';
import type { CannotRun } from '../api.ts';

/** Reason why a pod does not run. */
export interface Trouble {
  reason: CannotRun | 'Starting';
  message: string;
  /** Whether the trouble stays until a user acts. */
  stays: boolean;
}

/** Time for a node or volume to appear before a pod counts as unschedulable. */
export const GRACE_MS = 20_000;

/** Reasons of a waiting container from the kubelet (kubernetes pkg/kubelet/images and container). */
const WAITING: Readonly<Record<string, CannotRun>> = {
  InvalidImageName: 'InvalidImage',
  ImageInspectError: 'ImageNotPulled',
  ErrImageNeverPull: 'ImageNotPulled',
  ImagePullBackOff: 'ImageNotPulled',
  RegistryUnavailable: 'ImageNotPulled',
  SignatureValidationFailed: 'ImageNotPulled',
  CreateContainerConfigError: 'CannotStart',
  CreateContainerError: 'CannotStart',
  RunContainerError: 'CannotStart',
  CrashLoopBackOff: 'Crashes',
};

export const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;

export const hasEnded = ({ status }: Pod): boolean =>
  status?.phase === 'Failed' || status?.phase === 'Succeeded';

export const ageMs = ({ metadata }: Pod, now: Date): number =>
  now.getTime() - Date.parse(metadata.creationTimestamp ?? now.toISOString());

/** Returns the trouble of a pod that is not ready, from its state alone. Pure. */
export function troubleOf(pod: Pod, now: Date): Trouble {
  const { status = {} } = pod;
  if (hasEnded(pod)) {
    const why = [status.reason, status.message].filter((part) => part).join(': ');
    return { reason: 'PodFailed', message: why || 'the pod ended; another is made', stays: true };
  }
  for (const { state } of status.containerStatuses ?? []) {
    const { reason = '', message = '' } = state?.waiting ?? {};
    const known = WAITING[reason];
    if (known) return { reason: known, message: message || reason, stays: true };
    if (reason === 'ErrImagePull') return { reason: 'ImageNotPulled', message, stays: false };
  }
  const place = status.conditions?.find(({ type }) => type === 'PodScheduled');
  if (place?.status === 'False' && place.reason === 'Unschedulable')
    return { reason: 'Unschedulable', message: place.message ?? '', stays: ageMs(pod, now) >= GRACE_MS };
  return { reason: 'Starting', message: 'waits until the editor listens', stays: false };
}
