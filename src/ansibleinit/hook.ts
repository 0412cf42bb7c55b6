import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { messageOf } from '#base/errors.ts';
import { joined } from '#precheck/checks/joined.ts';
import { machineId } from '#precheck/checks/machine-id.ts';
import { owner } from '#precheck/checks/owner.ts';
import { precheck } from '#precheck/run.ts';
import { HOOK_FAILED, HOOK_FILE } from '#protocol/hook.ts';
import { inventoryOf } from '#protocol/inventory.ts';
import type { Report } from '#protocol/report.ts';
import type { RunSpec } from '#protocol/run-spec.ts';
import { checkedHosts } from './checked-hosts.ts';
import { leftAlone } from './left-alone.ts';
import { MACHINE_ON_RECORD, machineProblems } from './machines.ts';
import { summarizeOutput } from './output-summary.ts';
import { type PlaybookFiles, writeFiles } from './playbook-files.ts';
import { type RunAccess, readAccess, readRunSpec } from './settings.ts';

/** Settings of a hook. */
export interface HookSettings {
  runSpec: RunSpec;
  access: RunAccess;
  /** Directory with the Job's Secret. */
  accessDir: string;
  workDir: string;
}

/** Checks whose reason is HostConflict. */
const CONFLICTS = [owner.name, joined.name, MACHINE_ON_RECORD];
/**
 * Checks that stop a hook: another cluster's host, another machine than the one that joined, and a refused password, which
 * Ansible would try again.
 */
const GRAVE = new Set([...CONFLICTS, 'HostChanged', 'AuthenticationFailed', 'SudoRefused']);
/** Time for Ansible to end its connections before it is killed. */
const GRACE_MS = 10_000;

/** Reads the mounted files. Throws with the name of a missing or malformed one. */
export function readHookSettings({ MATRYOSHKA_ETC, WORK_DIR }: NodeJS.ProcessEnv): HookSettings {
  const etc = MATRYOSHKA_ETC ?? '/etc/matryoshka';
  const accessDir = join(etc, 'access');
  return {
    runSpec: readRunSpec(join(accessDir, 'order.json')),
    access: readAccess(etc),
    accessDir,
    workDir: WORK_DIR ?? '/run/matryoshka',
  };
}

/** Returns the plan's hosts in the groups of our own playbooks. Tasks run as root, with sudo for another user. */
export function hookInventory(runSpec: RunSpec) {
  const { all } = inventoryOf(runSpec);
  const hosts = Object.fromEntries(
    Object.entries(all.hosts).map(([ip, vars]) => [
      ip,
      vars.ansible_user === 'root' ? vars : { ...vars, ansible_become: true },
    ]),
  );
  return { all: { ...all, hosts } };
}

/** Configuration of Ansible as its documentation describes it, without our plugins; group names have hyphens. */
const CONFIG = `[defaults]
host_key_checking = True
retry_files_enabled = False
force_valid_group_names = ignore
localhost_warning = False
nocows = True
forks = 50
[ssh_connection]
pipelining = True
`;

const SSH_ARGS =
  '-o StrictHostKeyChecking=yes -o ControlMaster=auto -o ControlPersist=60s -o ConnectTimeout=15 -o ServerAliveInterval=10 -o ServerAliveCountMax=3';

/**
 * Runs the user's playbook, whose exit code decides. Prints every line of it. Rejects only if `signal` aborts: its progress
 * is then unknown, so it has no result.
 */
export async function runHook(
  settings: HookSettings,
  print: (line: string) => void,
  signal: AbortSignal,
): Promise<Report> {
  const { runSpec, access } = settings;
  const { hear, summary } = summarizeOutput([access.privateKey, access.password]);
  const failed = (reason: string, message: string): Report => ({
    success: false,
    reason,
    message,
    hosts: [],
  });
  try {
    // A new host is accepted with its present key, a known host with its recorded key only.
    const limits = { limits: {}, artifactUrl: undefined };
    const found = await precheck(checkedHosts(settings), [owner, joined, machineId], limits);
    signal.throwIfAborted();
    // Leaving hosts may be reset by now and belong to another cluster, so the hook runs only on hosts whose owner file names
    // ours.
    const separated = leftAlone(runSpec, found);
    const problems = [...found.problems, ...machineProblems(runSpec, found)];
    for (const { ip, check, message } of problems) print(hear(`${ip}: ${check}: ${message}`));
    for (const ip of separated)
      print(`${ip}: is left out: it is away, or does not say that it is of this cluster`);
    const grave = problems.filter(
      ({ ip, check, severity }) =>
        severity === 'error' && (check === 'HostKeyChanged' || (GRAVE.has(check) && !separated.has(ip))),
    );
    const [first] = grave;
    if (first)
      return failed(
        CONFLICTS.includes(first.check) ? 'HostConflict' : first.check,
        grave.map(({ ip, message }) => `${ip}: ${message}`).join('; '),
      );
    const worked = { ...runSpec, hosts: runSpec.hosts.filter(({ member: host }) => !separated.has(host.ip)) };
    const knownHosts = `${access.knownHosts}\n${found.knownHosts}`;
    const files = writeFiles(settings.workDir, hookInventory(worked), access, knownHosts);
    const exitCode = await play(settings, files, (line) => print(hear(line)), signal);
    signal.throwIfAborted();
    if (exitCode === 0) return { success: true, message: 'done', hosts: [] };
    return failed(HOOK_FAILED, `ansible-playbook ended with code ${exitCode}: ${summary()}`);
  } catch (error) {
    signal.throwIfAborted();
    return failed(HOOK_FAILED, hear(messageOf(error)));
  }
}

async function play(
  { access, accessDir, workDir }: HookSettings,
  files: PlaybookFiles,
  onLine: (line: string) => void,
  signal: AbortSignal,
): Promise<number | undefined> {
  // Ansible searches the playbook's directory for more files, so it is empty.
  const directory = join(workDir, 'hook');
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const [playbook, config] = [join(directory, HOOK_FILE), join(workDir, 'ansible.cfg')];
  copyFileSync(join(accessDir, HOOK_FILE), playbook);
  writeFileSync(config, CONFIG);
  const child = execa('ansible-playbook', ['-i', files.inventory, playbook], {
    cwd: directory,
    env: {
      ANSIBLE_CONFIG: config,
      ANSIBLE_LOCAL_TEMP: join(workDir, 'tmp'),
      ANSIBLE_SSH_CONTROL_PATH_DIR: join(workDir, 'cp'),
      ANSIBLE_SSH_ARGS: `-o UserKnownHostsFile=${files.knownHosts} ${SSH_ARGS}`,
      ...(files.privateKey === undefined ? {} : { ANSIBLE_PRIVATE_KEY_FILE: files.privateKey }),
      ...(access.password === undefined
        ? {}
        : {
            ANSIBLE_CONNECTION_PASSWORD_FILE: join(accessDir, 'password'),
            ANSIBLE_BECOME_PASSWORD_FILE: join(accessDir, 'password'),
          }),
      ANSIBLE_NOCOLOR: '1',
      HOME: workDir,
      LC_ALL: 'C.UTF-8',
    },
    stdin: 'ignore',
    all: true,
    buffer: false,
    reject: false,
    cancelSignal: signal,
    forceKillAfterDelay: GRACE_MS,
  });
  for await (const line of child.iterable({ from: 'all' })) onLine(line);
  return (await child).exitCode;
}
