import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inventoryOf } from '#protocol/inventory.ts';
import { withRoleVars } from '#protocol/role-vars/role-vars.ts';
import { TEMPLATE } from '#protocol/template.ts';
import type { RunAccess, Settings } from './settings.ts';

export interface PlaybookFiles {
  inventory: string;
  knownHosts: string;
  privateKey: string | undefined;
}

/**
 * Writes the files of ansible-playbook into a directory in memory. These are the inventory with the artifacts' sums and the
 * site's variables, the keys with mode 0600, which OpenSSH requires, and the pinned host keys.
 */
export const writePlaybookFiles = (
  settings: Settings,
  knownHosts: string,
  untouched: ReadonlySet<string>,
  sudoAsks: ReadonlySet<string>,
): PlaybookFiles =>
  writeFiles(
    settings.WORK_DIR,
    completeInventory(settings, untouched, sudoAsks),
    settings.access,
    knownHosts,
  );

/** Writes an inventory, and the SSH credentials for its hosts. Throws if the inventory contains a template. */
export function writeFiles(
  directory: string,
  inventory: object,
  access: RunAccess,
  knownHosts: string,
): PlaybookFiles {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const files = {
    inventory: join(directory, 'inventory.json'),
    knownHosts: join(directory, 'known_hosts'),
    privateKey: access.privateKey === undefined ? undefined : join(directory, 'ssh-privatekey'),
  };
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

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Merges the variables of a run spec over those of the site: maps are merged, lists joined; otherwise the run spec wins. */
function laidOver(site: Record<string, unknown>, runSpec: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(runSpec).map(([name, value]) => {
      const under = site[name];
      if (isMap(under) && isMap(value)) return [name, { ...under, ...value }];
      return [name, Array.isArray(under) && Array.isArray(value) ? [...under, ...value] : value];
    }),
  );
}

/** Returns the run spec's inventory with the additions of the Job's pod: artifacts, the site's variables, the pod's uid. */
export function completeInventory(
  settings: Settings,
  untouched: ReadonlySet<string>,
  sudoAsks: ReadonlySet<string> = new Set(),
) {
  const { runSpec, artifacts, siteVars, access } = settings;
  const forbidden = Object.keys(siteVars).filter((name) => name.startsWith('ansible_'));
  if (forbidden.length > 0) throw new Error(`site variables may not set ${forbidden.join(', ')}`);
  if (TEMPLATE.test(JSON.stringify(siteVars)))
    throw new Error(
      'inventory-vars.yaml of ConfigMap matryoshka-site holds template text ({{, {% or {#); leave it out',
    );
  const version = String(runSpec.vars['kube_version']);
  const release = artifacts.releases[version];
  const installs = runSpec.hosts.some(({ action }) => action === 'join');
  if (!release && installs) throw new Error(`there are no artifacts of Kubernetes ${version}`);
  const { all } = inventoryOf(runSpec, untouched, sudoAsks);
  return {
    all: withRoleVars({
      ...all,
      vars: {
        ...siteVars,
        ...laidOver(siteVars, all.vars),
        ...(release ?? { artifact_files: {} }),
        artifacts_base_url: artifacts.baseUrl,
        pod_uid: settings.POD_UID,
        // The value is encoded, so that nothing in it is read as a template. The file is in memory, readable for this user
        // alone.
        ...(access.registryLogin === undefined
          ? {}
          : { registry_login: Buffer.from(access.registryLogin).toString('base64') }),
      },
    }),
  };
}
