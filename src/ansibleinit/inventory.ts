import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from './settings.ts';

/** Text that Ansible would take for a template, or a variable that would change how Ansible itself works. */
const TEMPLATE = /\{\{|\{%|\{#/;

export interface PlaybookFiles {
  inventory: string;
  knownHosts: string;
  privateKey: string | undefined;
}

/**
 * Writes what ansible-playbook reads, into a directory in memory: the inventory with the artifacts' sums and the
 * site's variables, the keys as OpenSSH wants them (0600), the pinned host keys.
 */
export function writePlaybookFiles(
  settings: Settings,
  knownHosts: string,
  untouched: ReadonlySet<string>,
): PlaybookFiles {
  const { WORK_DIR: directory, access } = settings;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const files = {
    inventory: join(directory, 'inventory.json'),
    knownHosts: join(directory, 'known_hosts'),
    privateKey: access.privateKey === undefined ? undefined : join(directory, 'ssh-privatekey'),
  };
  const inventory = completeInventory(settings, untouched);
  const text = JSON.stringify(inventory);
  if (TEMPLATE.test(text))
    throw new Error('the inventory holds template text ({{, {% or {#), which is never data of ours');
  writeFileSync(files.inventory, text, { mode: 0o600 });
  writeFileSync(files.knownHosts, knownHosts, { mode: 0o600 });
  if (files.privateKey !== undefined) {
    const key = access.privateKey ?? '';
    writeFileSync(files.privateKey, key.endsWith('\n') ? key : `${key}\n`, { mode: 0o600 });
  }
  return files;
}

/** The Job's inventory with what the Job's pod adds. */
export function completeInventory(settings: Settings, untouched: ReadonlySet<string>) {
  const { inventory, artifacts, siteVars } = settings;
  const forbidden = Object.keys(siteVars).filter((name) => name.startsWith('ansible_'));
  if (forbidden.length > 0) throw new Error(`site variables may not set ${forbidden.join(', ')}`);
  const { vars, children } = inventory.all;
  const version = String(vars['kube_version']);
  const release = artifacts.releases[version];
  const installs = settings.OPERATION === 'create' || settings.OPERATION === 'scale-up';
  if (!release && installs) throw new Error(`there are no artifacts of Kubernetes ${version}`);
  const left = Object.entries(children.leaving.hosts).filter(([, host]) => untouched.has(host.ip));
  return {
    all: {
      vars: {
        ...siteVars,
        ...vars,
        ...(release ?? { artifact_files: {} }),
        artifacts_base_url: artifacts.baseUrl,
        // The epoch that each host compares before every command (ansible/README.md, The fence).
        operation_sequence: settings.SEQUENCE,
        operation_attempt: settings.ATTEMPT,
        pod_uid: settings.POD_UID,
      },
      // Hosts of `leaving` that no play connects to; their nodes are taken out of the cluster all the same.
      children: { ...children, untouched: { hosts: Object.fromEntries(left.map(([name]) => [name, {}])) } },
    },
  };
}
