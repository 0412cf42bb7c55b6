import type { HostResult, RunEvent } from '#protocol/event.ts';
import type { Progress } from './brake.ts';

export interface PlaybookResult {
  /** Whether its last play was reached, which says that everything was done. */
  complete: boolean;
  /** Whether a task was cut off: its host could not be reached any more, or Ansible ended meanwhile. */
  cutShort: boolean;
  /** Addresses of hosts that failed or could not be reached, with the last word about them. */
  failed: Map<string, string>;
  /** What was achieved, by address. */
  did: Map<string, Set<HostResult>>;
  versions: Map<string, Record<string, string>>;
  /** Steps that came to a host, in order. */
  steps: string[];
  /** The play that was reached last. */
  play: string;
  /** The first cause of a failure, of each host that failed in that task, or why it is not complete. */
  message: string;
}

const CUT = 'it was cut off, as the operation was cancelled';
const DIED = 'Ansible ended while it ran; how far it came is not known';

/** Collects the events of one playbook into its result. */
export interface PlaybookAccount {
  readonly progress: Progress;
  take(event: RunEvent): void;
  /** Marks hosts whose tasks are ended because the operation is cancelled. */
  cut(ips: readonly string[]): void;
  /** Returns the result. `how` says how Ansible ended; tasks that still ran count as failed. */
  close(how: string, isCancelled: boolean): PlaybookResult;
}

/** `planned`: names of steps that count although no host has anything to do in them. */
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

  /** A step that is passed over, as there is nothing to do in it, counts only where it was planned. */
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

  /** The first is the cause, and hosts that fail in the same task by themselves; what fails later mostly fails because of it. */
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
