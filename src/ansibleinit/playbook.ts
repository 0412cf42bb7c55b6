import { join } from 'node:path';
import { execa } from 'execa';
import { type Deed, eventFrom, type RunEvent } from '#protocol/event.ts';
import type { PlaybookFiles } from './playbook-files.ts';
import type { Settings } from './settings.ts';

export interface PlaybookResult {
  /** Whether its last play was reached, which says that everything was done. */
  complete: boolean;
  /** Addresses of hosts that failed or could not be reached, with the last word about them. */
  failed: Map<string, string>;
  /** What was achieved, by address. */
  did: Map<string, Set<Deed>>;
  versions: Map<string, Record<string, string>>;
  /** The first cause of a failure, or why it is not complete. */
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
  const did = new Map<string, Set<Deed>>();
  const versions = new Map<string, Record<string, string>>();
  let complete = false;
  let cause = '';
  const achieved = (ip: string, deeds: readonly Deed[]) =>
    did.set(ip, new Set([...(did.get(ip) ?? []), ...deeds]));
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
    if (event.event === 'complete') complete = true;
    if (event.host !== undefined && event.did) achieved(event.host, event.did);
    for (const [ip, deeds] of Object.entries(event.did_for ?? {})) achieved(ip, deeds);
    if (event.host !== undefined && event.versions)
      versions.set(event.host, { ...versions.get(event.host), ...event.versions });
    if (event.event === 'failed' || event.event === 'unreachable') {
      // The first is the cause; what fails later mostly fails because of it.
      cause ||= `${event.host ?? ''}: ${event.task ?? ''}: ${event.message ?? ''}`;
      if (event.host !== undefined) failed.set(event.host, `${event.task ?? ''}: ${event.message ?? ''}`);
    } else if (event.event === 'info' && /^(ERROR|\[ERROR\])/.test(event.message ?? '')) {
      cause ||= event.message ?? '';
    }
  }
  const { exitCode } = await child;
  const why = cause || (complete ? '' : `ansible-playbook ended with code ${exitCode}, and not at its end`);
  return { complete, failed, did, versions, message: why };
}
