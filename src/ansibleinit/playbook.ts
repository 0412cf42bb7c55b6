import { join } from 'node:path';
import { execa } from 'execa';
import { eventFrom, type RunEvent } from './event.ts';
import type { PlaybookFiles } from './inventory.ts';
import type { Settings } from './settings.ts';

export interface PlaybookResult {
  ok: boolean;
  /** Hosts (inventory names) that failed or could not be reached, with the last word about them. */
  failed: Map<string, string>;
  message: string;
}

/** Ansible is given this long to end its connections before it is killed. */
const GRACE_MS = 10_000;

/** Runs one playbook; every event goes to `onEvent` as it comes. Rejects only when it cannot be started. */
export async function runPlaybook(
  name: string,
  settings: Settings,
  files: PlaybookFiles,
  onEvent: (event: RunEvent) => void,
  signal: AbortSignal,
): Promise<PlaybookResult> {
  const { PLAYBOOKS: directory, WORK_DIR: work, access } = settings;
  const failed = new Map<string, string>();
  let cause = '';
  const sshArgs = `-o UserKnownHostsFile=${files.knownHosts} -o StrictHostKeyChecking=yes -o ControlMaster=auto -o ControlPersist=60s -o ConnectTimeout=15 -o ServerAliveInterval=10 -o ServerAliveCountMax=3`;
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
    },
    stdin: 'ignore',
    all: true,
    buffer: false,
    reject: false,
    cancelSignal: signal,
    forceKillAfterDelay: GRACE_MS,
  });
  for await (const line of child.iterable({ from: 'all' })) {
    const event = eventFrom(line, new Date());
    if (!event) continue;
    onEvent(event);
    if (event.event === 'failed' || event.event === 'unreachable') {
      // The first is the cause; what fails later mostly fails because of it.
      cause ||= `${event.host ?? ''}: ${event.task ?? ''}: ${event.message ?? ''}`;
      if (event.host !== undefined) failed.set(event.host, `${event.task ?? ''}: ${event.message ?? ''}`);
    } else if (event.event === 'info' && /^(ERROR|\[ERROR\])/.test(event.message ?? '')) {
      cause ||= event.message ?? '';
    }
  }
  const { exitCode } = await child;
  const ok = exitCode === 0;
  return { ok, failed, message: ok ? '' : cause || `ansible-playbook ended with code ${exitCode}` };
}
