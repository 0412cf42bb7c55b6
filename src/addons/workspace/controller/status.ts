import { findCondition, type Stated, withCondition } from '#api/conditions.ts';
import type { CannotRun, Workspace, WorkspaceStatus } from '../api.ts';
import { type Hindrance, isMine, isWanted } from './plan.ts';
import type { WorkspacePod } from './pod.ts';
import { isReady, type Trouble } from './trouble.ts';

export interface Notice {
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
}

/** Findings about a Workspace in one reconcile. */
export interface Found {
  pod: WorkspacePod | undefined;
  /** Whether this reconcile removed its pod. */
  removed: boolean;
  hindrance: Hindrance | undefined;
  /** Message of the API server about a refused pod or volume. */
  refused: { reason: CannotRun; message: string } | undefined;
  /** Trouble of a pod that is not ready. */
  trouble: Trouble | undefined;
}

interface State {
  phase: NonNullable<WorkspaceStatus['phase']>;
  reason: string;
  message: string;
  stalled?: boolean;
}

function stateOf(workspace: Workspace, { pod, removed, hindrance, refused, trouble }: Found): State {
  const mine = pod && isMine(pod, workspace) ? pod : undefined;
  if (!isWanted(workspace))
    return mine
      ? { phase: 'Stopping', reason: 'Stopping', message: 'its pod ends' }
      : { phase: 'Stopped', reason: 'Stopped', message: 'spec.running is false' };
  if (refused) return { phase: 'Failed', ...refused, stalled: true };
  if (hindrance?.reason === 'NameTaken') return { phase: 'Failed', ...hindrance, stalled: true };
  if (hindrance) return { phase: 'Pending', ...hindrance };
  if (mine && !removed && isReady(mine))
    return { phase: 'Running', reason: 'Running', message: 'the editor listens' };
  if (!trouble) return { phase: 'Pending', reason: 'Starting', message: 'its pod is made' };
  const { reason, message, stays } = trouble;
  return { phase: stays ? 'Failed' : 'Pending', reason, message, stalled: stays };
}

/** Returns the status after a reconcile, and an Event for a change. Address and node appear for a ready pod only. */
export function outcomeOf(
  workspace: Workspace,
  found: Found,
  now: Date,
): { status: WorkspaceStatus; notices: readonly Notice[] } {
  const { phase, reason, message, stalled = false } = stateOf(workspace, found);
  const { generation } = workspace.metadata;
  const isRunning = phase === 'Running';
  const ready: Stated = { type: 'Ready', status: isRunning ? 'True' : 'False', reason, message };
  const stuck: Stated = stalled
    ? { type: 'Stalled', status: 'True', reason, message }
    : { type: 'Stalled', status: 'False', reason: 'GoesOn', message: '' };
  const conditions = [ready, stuck].reduce(
    (list, stated) => withCondition(list, stated, now, generation),
    workspace.status?.conditions ?? [],
  );
  const port = found.pod?.spec?.containers?.[0]?.ports?.[0]?.containerPort;
  const { nodeName } = found.pod?.spec ?? {};
  const { podIP } = found.pod?.status ?? {};
  const before = findCondition(workspace.status?.conditions, 'Ready');
  const type = stalled ? ('Warning' as const) : ('Normal' as const);
  return {
    status: {
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      phase,
      ...(isRunning && nodeName !== undefined ? { nodeName } : {}),
      ...(isRunning && podIP !== undefined ? { ip: podIP } : {}),
      ...(isRunning && port !== undefined ? { port } : {}),
      conditions,
    },
    notices: before?.reason === reason ? [] : [{ type, reason, message }],
  };
}
