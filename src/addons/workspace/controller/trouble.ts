import type { Pod } from '#api/core.ts';
import type { CannotRun } from '../api.ts';

/** Why a pod does not run. */
export interface Trouble {
  reason: CannotRun | 'Starting';
  message: string;
  /** Whether it will stay so unless somebody does something. */
  stays: boolean;
}

/** What a node or volume needs to turn up, before a pod counts as one that finds no place. */
export const GRACE_MS = 20_000;

/** Reasons of a waiting container, as the kubelet gives them (kubernetes pkg/kubelet/images and container). */
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

/** What keeps a pod that is not ready, from its state alone. Pure. */
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
