import { join } from 'node:path';
import { execa } from 'execa';
import { type Clock, sleep, systemClock } from '#base/clock.ts';
import { eventFrom, type HostResult, type RunEvent } from '#protocol/event.ts';
import { brake } from './brake.ts';
import { linesUntil } from './lines.ts';
import type { PlaybookFiles } from './playbook-files.ts';
import type { Settings } from './settings.ts';

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

/** Ansible is given this long to end its connections before it is killed. */
const GRACE_MS = 10_000;
/**
 * It is not awaited for longer than this once it has said its last words, or was killed: one of its own processes that is
 * stuck keeps it, and its output, for ever.
 */
const END_MS = 20_000;
const CUT = 'it was cut off, as the operation was cancelled';
const DIED = 'Ansible ended while it ran; how far it came is not known';

/** What may end a playbook before its end. */
export interface PlaybookEnds {
  /** Ends Ansible at once. */
  signal: AbortSignal;
  /** Has it start nothing more. */
  cancelled: AbortSignal;
  /** Ends what runs on these hosts, unless it is protected there. */
  cutOff(ips: readonly string[]): Promise<void>;
  clock?: Clock;
}

/**
 * Runs one playbook; every event goes to `onEvent` as it comes. Rejects only when it cannot be started. A host on which a
 * task still ran when Ansible was ended counts as failed and as taken.
 */
export async function runPlaybook(
  name: string,
  settings: Settings,
  files: PlaybookFiles,
  onEvent: (event: RunEvent) => void,
  { signal, cancelled, cutOff, clock = systemClock }: PlaybookEnds,
): Promise<PlaybookResult> {
  const { PLAYBOOKS: directory, WORK_DIR: work, access } = settings;
  const failed = new Map<string, string>();
  const did = new Map<string, Set<HostResult>>();
  const versions = new Map<string, Record<string, string>>();
  const steps = new Set<string>();
  const busy = new Map<string, string>();
  const progress = { play: '', busy };
  let complete = false;
  let lost = false;
  const causes: string[] = [];
  let first = '';
  const planned = new Set(settings.runSpec.steps.map((step) => step.name));
  const stopFile = join(work, 'stop');
  const uncut = settings.runSpec.steps.filter(({ cut }) => cut === 'never').map((step) => step.name);
  const [ended, givenUp, over] = [new AbortController(), new AbortController(), new AbortController()];
  const leaveSoon = () => {
    const late = () => over.abort(new Error('Ansible does not end'));
    void sleep(END_MS, ended.signal, clock).then(late, () => {});
  };
  const cut = new Set<string>();
  const achieved = (ip: string, results: readonly HostResult[]) =>
    did.set(ip, new Set([...(did.get(ip) ?? []), ...results]));
  const sshArgs = `-o UserKnownHostsFile=${files.knownHosts} -o StrictHostKeyChecking=yes -o ControlMaster=auto -o ControlPersist=60s -o ConnectTimeout=15 -o ServerAliveInterval=10 -o ServerAliveCountMax=3`;
  signal.addEventListener('abort', leaveSoon, { once: true });
  const child = execa('ansible-playbook', ['-i', files.inventory, join(directory, name)], {
    cwd: directory,
    env: {
      ANSIBLE_CONFIG: join(directory, 'ansible.cfg'),
      ANSIBLE_LOCAL_TEMP: join(work, 'tmp'),
      ANSIBLE_SSH_CONTROL_PATH_DIR: join(work, 'cp'),
      ANSIBLE_SSH_ARGS: sshArgs,
      ...(files.privateKey === undefined ? {} : { ANSIBLE_PRIVATE_KEY_FILE: files.privateKey }),
      // A password goes through a file descriptor of ssh's own asking, never through an argument.
      ...(access.password === undefined
        ? {}
        : { ANSIBLE_CONNECTION_PASSWORD_FILE: `${settings.MATRYOSHKA_ETC}/access/password` }),
      HOME: work,
      LC_ALL: 'C.UTF-8',
      MATRYOSHKA_STOP_FILE: stopFile,
      MATRYOSHKA_UNCUT: JSON.stringify(uncut),
    },
    stdin: 'ignore',
    all: true,
    buffer: false,
    reject: false,
    cancelSignal: AbortSignal.any([signal, givenUp.signal]),
    forceKillAfterDelay: GRACE_MS,
  });
  const braking = brake({
    cancelled,
    ended: ended.signal,
    stopFile,
    uncut: new Set(uncut),
    progress,
    clock,
    cutOff: (ips) => {
      for (const ip of ips) cut.add(ip);
      return cutOff(ips);
    },
    giveUp: () => {
      givenUp.abort(new Error('what ran on hosts did not end in time'));
      leaveSoon();
    },
  });
  for await (const line of linesUntil(child.iterable({ from: 'all' }), over.signal)) {
    const event = eventFrom(line, new Date());
    if (!event) continue;
    onEvent(event);
    if (event.event === 'complete') complete = true;
    // The sums are its last words, however it went.
    if (event.event === 'complete' || event.event === 'stats') leaveSoon();
    if (event.event === 'play') progress.play = event.play ?? '';
    const { host = 'localhost', play } = event;
    // A step that is passed over, as there is nothing to do in it, counts only where it was planned.
    if (host !== 'localhost' && play !== undefined && event.event !== 'start')
      if (event.event !== 'skipped' || planned.has(play)) steps.add(play);
    if (event.host !== undefined && event.event === 'start') busy.set(event.host, event.task ?? '');
    else if (event.host !== undefined) busy.delete(event.host);
    if (event.event === 'unreachable') lost = true;
    if (event.host !== undefined && event.did) achieved(event.host, event.did);
    for (const [ip, results] of Object.entries(event.did_for ?? {})) achieved(ip, results);
    if (event.host !== undefined && event.versions)
      versions.set(event.host, { ...versions.get(event.host), ...event.versions });
    if (event.event === 'failed' || event.event === 'unreachable') {
      // The first is the cause, and hosts that fail in the same task by themselves; what fails later mostly fails because of it.
      const task = `${play ?? ''}/${event.task ?? ''}`;
      if (causes.length === 0) first = task;
      if (first === task) causes.push(`${event.host ?? ''}: ${event.task ?? ''}: ${event.message ?? ''}`);
      const why = cut.has(event.host ?? '') ? CUT : (event.message ?? '');
      if (event.host !== undefined) failed.set(event.host, `${event.task ?? ''}: ${why}`);
    } else if (event.event === 'info' && /^(ERROR|\[ERROR\])/.test(event.message ?? '')) {
      if (causes.length === 0) causes.push(event.message ?? '');
    }
  }
  if (over.signal.aborted) child.kill('SIGKILL');
  const how = over.signal.aborted ? 'does not end' : `ended with code ${(await child).exitCode}`;
  ended.abort();
  await braking;
  const running = complete ? [] : [...busy];
  for (const [ip, task] of running) {
    steps.add(progress.play);
    achieved(ip, ['taken']);
    failed.set(ip, `${task}: ${cancelled.aborted ? CUT : DIED}`);
  }
  const why = causes.join('; ') || (complete ? '' : `ansible-playbook ${how}, and not at its end`);
  return {
    complete,
    cutShort: lost || running.length > 0,
    failed,
    did,
    versions,
    steps: [...steps],
    play: progress.play,
    message: why,
  };
}
