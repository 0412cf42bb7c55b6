import type { HostResult, RunEvent } from '#protocol/event.ts';
import type { Progress } from './brake.ts';

export interface PlaybookResult {
  /** Whether the last play was reached, so that everything is done. */
  complete: boolean;
  /** Whether a task was interrupted: its host became unreachable, or Ansible ended meanwhile. */
  cutShort: boolean;
  /** Addresses of hosts that failed or were unreachable, with the last message about them. */
  failed: Map<string, string>;
  /** Results by address. */
  did: Map<string, Set<HostResult>>;
  versions: Map<string, Record<string, string>>;
  /** Steps that reached a host, in order. */
  steps: string[];
  /** Last play that was reached. */
  play: string;
  /** First cause of a failure, for each host that failed in that task, or why the result is incomplete. */
  message: string;
}

const CUT = 'it was cut off, as the operation was cancelled';
const DIED = 'Ansible ended while it ran; how far it came is not known';

/** Collects the events of one playbook into its result. */
export interface PlaybookAccount {
  readonly progress: Progress;
  take(event: RunEvent): void;
  /** Marks hosts whose tasks are ended because of a cancellation. */
  cut(ips: readonly string[]): void;
  /** Returns the result. `how` describes how Ansible ended; tasks that still ran count as failed. */
  close(how: string, isCancelled: boolean): PlaybookResult;
}

/** Creates an account. `planned`: names of steps that count even if no host has work in them. */
export function playbookAccount(planned: ReadonlySet<string>): PlaybookAccount {
  const failed = new Map<string, string>();
  const did = new Map<string, Set<HostResult>>();
  const versions = new Map<string, Record<string, string>>();
  const steps = new Set<string>();
  const busy = new Map<string, string>();
  const progress: Progress = { play: '', busy };
  const cut = new Set<string>();
  const causes: string[] = [];
  let firstTask = '';
  let isComplete = false;
  let isLost = false;

  const achieved = (ip: string, results: readonly HostResult[]) =>
    did.set(ip, new Set([...(did.get(ip) ?? []), ...results]));

  /** Counts a step; a step that is skipped because it has no work counts only if it was planned. */
  function countStep({ event, host = 'localhost', play }: RunEvent): void {
    if (host === 'localhost' || play === undefined || event === 'start') return;
    if (event !== 'skipped' || planned.has(play)) steps.add(play);
  }

  function follow({ event, host, task = '', play = '' }: RunEvent): void {
    if (event === 'play') progress.play = play;
    if (host === undefined) return;
    if (event === 'start') busy.set(host, task);
    else busy.delete(host);
  }

  function credit({ host, did: results, did_for: others, versions: found }: RunEvent): void {
    if (host !== undefined && results) achieved(host, results);
    for (const [ip, theirs] of Object.entries(others ?? {})) achieved(ip, theirs);
    if (host !== undefined && found) versions.set(host, { ...versions.get(host), ...found });
  }

  /**
   * Records a failure. The first is the cause, with all hosts that fail in the same task; later ones mostly follow from it.
   */
  function blame({ host, task = '', play = '', message = '' }: RunEvent): void {
    const where = `${play}/${task}`;
    if (causes.length === 0) firstTask = where;
    if (firstTask === where) causes.push(`${host ?? ''}: ${task}: ${message}`);
    if (host !== undefined) failed.set(host, `${task}: ${cut.has(host) ? CUT : message}`);
  }

  return {
    progress,
    cut(ips) {
      for (const ip of ips) cut.add(ip);
    },
    take(event) {
      if (event.event === 'complete') isComplete = true;
      if (event.event === 'unreachable') isLost = true;
      countStep(event);
      follow(event);
      credit(event);
      if (event.event === 'failed' || event.event === 'unreachable') blame(event);
      else if (
        event.event === 'info' &&
        /^(ERROR|\[ERROR\])/.test(event.message ?? '') &&
        causes.length === 0
      )
        causes.push(event.message ?? '');
    },
    close(how, isCancelled) {
      const running = isComplete ? [] : [...busy];
      for (const [ip, task] of running) {
        steps.add(progress.play);
        achieved(ip, ['taken']);
        failed.set(ip, `${task}: ${isCancelled ? CUT : DIED}`);
      }
      return {
        complete: isComplete,
        cutShort: isLost || running.length > 0,
        ...{ failed, did, versions, steps: [...steps], play: progress.play },
        message: causes.join('; ') || (isComplete ? '' : `ansible-playbook ${how}, and not at its end`),
      };
    },
  };
}
