import type { KubeObject } from '#api/meta.ts';
import { CLOUD_IDE, WORKSPACES, type Workspace, workspaceAnnotations } from '../api.ts';
import { claimOf, podOf, type WorkspacePod } from './pod.ts';
import { ageMs, hasEnded } from './trouble.ts';

/** Cached objects with a Workspace's name. */
export interface Seen {
  pod: WorkspacePod | undefined;
  claim: KubeObject | undefined;
}

/** Reason why a pod or volume cannot be created: it must wait, or it is impossible. */
export interface Hindrance {
  reason: 'FormerGoing' | 'NameTaken';
  message: string;
}

export interface WorkspacePlan {
  claim: ReturnType<typeof claimOf>;
  pod: WorkspacePod | undefined;
  /** Pod to remove: the Workspace stops, or the pod ended. */
  remove: WorkspacePod | undefined;
  hindrance: Hindrance | undefined;
}

const MINUTE_MS = 60_000;
/** Time for which an ended pod stays for inspection, and shortest time between two pods. */
export const ENDED_MS = 10_000;

export const isMine = ({ metadata }: KubeObject, workspace: Workspace): boolean =>
  metadata.ownerReferences?.find(({ controller }) => controller)?.uid === workspace.metadata.uid;
const isFormers = ({ metadata }: KubeObject): boolean =>
  metadata.ownerReferences?.some(
    ({ apiVersion, controller, kind }) =>
      controller && kind === WORKSPACES.kind && apiVersion.startsWith(`${WORKSPACES.group}/`),
  ) ?? false;
/** Whether an object has the label; caches hold only labelled objects. */
export const isLabelled = ({ metadata }: KubeObject): boolean => metadata.labels?.['kind'] === CLOUD_IDE.kind;
export const isWanted = ({ spec }: Workspace): boolean => spec.running !== false;

function hindranceOf(what: string, there: KubeObject | undefined, workspace: Workspace) {
  if (!there) return undefined;
  const { name } = workspace.metadata;
  if (isMine(there, workspace))
    return there.metadata.deletionTimestamp
      ? { reason: 'FormerGoing' as const, message: `${what} "${name}" is being removed; another comes then` }
      : undefined;
  return isFormers(there) ? former(what, name) : takenBy(what, name);
}
const former = (what: string, name = ''): Hindrance => ({
  reason: 'FormerGoing',
  message: `${what} "${name}" of a Workspace that was removed is still going`,
});
export const takenBy = (what: string, name = ''): Hindrance => ({
  reason: 'NameTaken',
  message: `${what} "${name}" has another owner: remove it, or give the Workspace another name`,
});
export const unlabelled = (what: string, name = ''): Hindrance => ({
  reason: 'NameTaken',
  message: `${what} "${name}" is this Workspace's, and lost its label kind=${CLOUD_IDE.kind}: put that back`,
});

/** Plans the writes that start or stop a Workspace. Objects of others are never touched. Pure. */
export function planOf(workspace: Workspace, { pod, claim }: Seen, now: Date): WorkspacePlan {
  const nothing = { claim: undefined, pod: undefined, remove: undefined, hindrance: undefined };
  if (!isWanted(workspace)) {
    const mine = pod && isMine(pod, workspace) && !pod.metadata.deletionTimestamp;
    return { ...nothing, remove: mine ? pod : undefined };
  }
  const wanted = claimOf(workspace);
  const hindrance =
    hindranceOf('Pod', pod, workspace) ?? (wanted && hindranceOf('PersistentVolumeClaim', claim, workspace));
  if (hindrance) return { ...nothing, hindrance };
  return {
    claim: claim ? undefined : wanted,
    pod: pod ? undefined : podOf(workspace),
    remove: pod && hasEnded(pod) && ageMs(pod, now) >= ENDED_MS ? pod : undefined,
    hindrance: undefined,
  };
}

const timeOf = (text: string | undefined): number | undefined => {
  const ms = Date.parse(text ?? '');
  return Number.isNaN(ms) ? undefined : ms;
};

/** Returns when the Workspace is to be removed: its time is over, or its creating call ended and could not remove it. */
export function endsAtMs({ metadata, spec }: Workspace): number | undefined {
  const made = timeOf(metadata.creationTimestamp) ?? 0;
  const ends = [
    ...(spec.ttlMinutes === undefined ? [] : [made + spec.ttlMinutes * MINUTE_MS]),
    timeOf(metadata.annotations?.[workspaceAnnotations.awaitedUntil]) ?? Number.POSITIVE_INFINITY,
  ];
  const first = Math.min(...ends);
  return Number.isFinite(first) ? first : undefined;
}

/** Returns when an unused Workspace is to be stopped; undefined if it does not run, or never stops. */
export function idleAtMs({ metadata, spec, status }: Workspace, now: Date): number | undefined {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  if (spec.idleStopMinutes === undefined || !isWanted({ metadata, spec }) || ready?.status !== 'True')
    return undefined;
  const used = timeOf(metadata.annotations?.[workspaceAnnotations.activeAt]) ?? 0;
  const since = Math.max(timeOf(ready.lastTransitionTime) ?? 0, Math.min(used, now.getTime()));
  return since + spec.idleStopMinutes * MINUTE_MS;
}
