import { join } from 'node:path';
import { execa } from 'execa';
import { type Clock, sleep, systemClock } from '#base/clock.ts';
import { eventFrom, type RunEvent } from '#protocol/event.ts';
import { brake } from './brake.ts';
import { linesUntil } from './lines.ts';
import { type PlaybookResult, playbookAccount } from './playbook-account.ts';
import type { PlaybookFiles } from './playbook-files.ts';
import type { Settings } from './settings.ts';

/** Time for Ansible to end its connections before it is killed. */
const GRACE_MS = 10_000;
/**
 * Time to wait for Ansible after its last event, or after it was killed: a stuck child process keeps it, and its output,
 * open forever.
 */
const END_MS = 20_000;

/** Signals that end a playbook early. */
export interface PlaybookEnds {
  /** Ends Ansible at once. */
  signal: AbortSignal;
  /** Stops Ansible from starting tasks. */
  cancelled: AbortSignal;
  /** Ends the commands on these hosts, unless they are protected there. */
  cutOff(ips: readonly string[]): Promise<void>;
  clock?: Clock;
}

/**
 * Runs one playbook; every event goes to `onEvent` as it arrives. Rejects only if it cannot be started. If Ansible ends
 * during a task, the task's host counts as failed and as taken.
 */
export async function runPlaybook(
  name: string,
  settings: Settings,
  files: PlaybookFiles,
  onEvent: (event: RunEvent) => void,
  { signal, cancelled, cutOff, clock = systemClock }: PlaybookEnds,
): Promise<PlaybookResult> {
  const { PLAYBOOKS: directory, WORK_DIR: work, access } = settings;
  const account = playbookAccount(new Set(settings.runSpec.steps.map((step) => step.name)));
  const stopFile = join(work, 'stop');
  const uncut = settings.runSpec.steps.filter(({ cut }) => cut === 'never').map((step) => step.name);
  const [ended, givenUp, over] = [new AbortController(), new AbortController(), new AbortController()];
  const leaveSoon = () => {
    const late = () => over.abort(new Error('Ansible does not end'));
    void sleep(END_MS, ended.signal, clock).then(late, () => {});
  };
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
      // A password reaches ssh through a file descriptor, never through an argument.
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
    progress: account.progress,
    clock,
    cutOff: (ips) => {
      account.cut(ips);
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
    account.take(event);
    // The sums are the last event of a failed run too.
    if (event.event === 'complete' || event.event === 'stats') leaveSoon();
  }
  if (over.signal.aborted) child.kill('SIGKILL');
  const how = over.signal.aborted ? 'does not end' : `ended with code ${(await child).exitCode}`;
  ended.abort();
  await braking;
  return account.close(how, cancelled.aborted);
}
