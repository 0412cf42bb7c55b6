import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { bySudo, WITH_PASSWORD } from '#ssh/sudo.ts';

const ansible = join(import.meta.dirname, '../..', 'ansible');
const Variables = z.record(z.string(), z.unknown());
const Spec = z.object({ argument_specs: z.object({ inventory: z.object({ options: Variables }) }) });
const read = async (path: string) => parse(await readFile(path, 'utf8'));
const declared = Object.keys(
  Spec.parse(await read(join(ansible, 'roles/settings/meta/argument_specs.yml'))).argument_specs.inventory
    .options,
);

describe('the roles', () => {
  it('contain nothing specific to the lab', async () => {
    const entries = await readdir(ansible, { recursive: true, withFileTypes: true });
    const notice: string[] = [];
    for (const entry of entries.filter((item) => item.isFile() && !item.name.endsWith('.pyc'))) {
      const path = join(entry.parentPath, entry.name);
      const lines = (await readFile(path, 'utf8')).split('\n');
      notice.push(
        ...lines
          .filter((line) => /\blab\b|\blab[-_]|in_docker|10\.88\.0\./i.test(line))
          .map((line) => `${path}: ${line}`),
      );
    }
    expect(notice).toEqual([]);
  });

  it('declare every variable that the lab sets', async () => {
    const set = Object.keys(
      Variables.parse(await read(join(import.meta.dirname, '../../lab/inventory-vars.yaml'))),
    );
    expect(set.filter((name) => !declared.includes(name))).toEqual([]);
  });

  it('have a default for each optional variable, and describe each in the README', async () => {
    const spec = Spec.parse(await read(join(ansible, 'roles/settings/meta/argument_specs.yml')));
    const defaults = Variables.parse(await read(join(ansible, 'roles/settings/defaults/main.yml')));
    const readme = await readFile(join(ansible, 'README.md'), 'utf8');
    const Option = z.object({ required: z.boolean().optional() });
    const optional = Object.entries(spec.argument_specs.inventory.options)
      .filter(([, option]) => !Option.parse(option).required)
      .map(([name]) => name);
    expect(optional.filter((name) => !(name in defaults))).toEqual([]);
    expect(declared.filter((name) => !readme.includes(`\`${name}\``))).toEqual([]);
  });
});

const Play = z.object({
  name: z.string(),
  hosts: z.string(),
  roles: z.array(z.unknown()).default([]),
  vars: z.record(z.string(), z.unknown()).default({}),
});

describe('each playbook', async () => {
  const files = (await readdir(ansible)).filter((name) => name.endsWith('.yml'));

  it.each(files)('%s: takes hosts first, fences every later play, and ends with Complete', async (file) => {
    const plays = z.array(Play).parse(await read(join(ansible, file)));
    // A relabel works through the control plane and connects to no other host.
    const first =
      file === 'relabel.yml'
        ? { name: 'Take the control plane', hosts: 'kube-master:!leave:!untouched' }
        : { name: 'Take hosts', hosts: 'all:!untouched:localhost' };
    expect(plays[0]).toMatchObject(first);
    expect(plays.at(-1)).toMatchObject({ name: 'Complete', hosts: 'localhost', roles: [] });
    const between = plays.slice(1, -1);
    expect(between.filter(({ vars }) => vars['ansible_shell_executable'] !== '{{ fenced }}')).toEqual([]);
    // Plays have localhost too, so all leaving hosts may fail; no play has untouched hosts.
    const leaving = between.filter(({ hosts }) => hosts.startsWith('leave'));
    expect(leaving.map(({ hosts }) => hosts)).toEqual(leaving.map(() => 'leave:!untouched:localhost'));
    const changing = between.filter(({ hosts }) => hosts.startsWith('change'));
    expect(changing.map(({ hosts }) => hosts)).toEqual(changing.map(() => 'change:!untouched:localhost'));
  });

  it.each(files)(
    '%s: checks its inventory, and lists no role with tasks_from, which Ansible ignores there',
    async (file) => {
      const text = await readFile(join(ansible, file), 'utf8');
      const plays = z.array(Play).parse(parse(text));
      // Ansible reads `tasks_from` only for import_role. Below `roles` it is a variable, and the whole role runs.
      expect(plays.flatMap(({ roles }) => roles).filter((role) => typeof role !== 'string')).toEqual([]);
      expect(text).toContain('import_role: {name: settings, tasks_from: inventory}');
    },
  );

  it('move-etcd.yml: points API servers at etcd before it removes members', async () => {
    const plays = z.array(Play).parse(await read(join(ansible, 'move-etcd.yml')));
    const names = plays.map(({ name }) => name);
    const [pointed, remove] = ['Point API servers at etcd', 'Remove etcd members'].map((name) =>
      names.indexOf(name),
    );
    expect(plays[pointed ?? -1]?.vars).toMatchObject({ etcd_leads: true });
    expect(pointed).toBeLessThan(remove ?? -1);
  });

  it('has only step names that the README documents', async () => {
    const readme = (await readFile(join(ansible, 'README.md'), 'utf8')).replaceAll('\n', ' ');
    for (const file of files) {
      const plays = z.array(Play).parse(await read(join(ansible, file)));
      expect(plays.map(({ name }) => name).filter((name) => !readme.includes(`\`${name}\``))).toEqual([]);
    }
  });
});

it('tasks on a host are scripts through standard input, or assertions', async () => {
  const entries = await readdir(ansible, { recursive: true, withFileTypes: true });
  const tasks = entries.filter(
    ({ parentPath, name }) => parentPath.endsWith('/tasks') && name.endsWith('.yml'),
  );
  const Tasks = z.array(z.record(z.string(), z.unknown())).nullable();
  for (const { parentPath, name } of tasks) {
    const path = join(parentPath, name);
    const others = (Tasks.parse(await read(path)) ?? []).filter(
      (task) => !('host_script' in task || 'ansible.builtin.assert' in task),
    );
    expect([path, others]).toEqual([path, []]);
  }
});

it('playbooks call sudo as the precheck does', async () => {
  const plugin = await readFile(join(ansible, 'plugins/action/host_script.py'), 'utf8');
  const [, sudo = 'none'] = /^SUDO = '(.*)'$/m.exec(plugin) ?? [];
  expect(bySudo('true', false).startsWith(`${sudo}/bin/sh -c `)).toBe(true);
  const [, withPassword = '""'] = /^WITH_PASSWORD = (".*")$/m.exec(plugin) ?? [];
  expect(JSON.parse(withPassword)).toBe(WITH_PASSWORD);
});

it('the reset calls every undo.sh, the kubelet’s before the control plane’s', async () => {
  const roles = await readdir(join(ansible, 'roles'));
  const undoing: string[] = [];
  for (const role of roles) {
    const files = await readdir(join(ansible, 'roles', role, 'files')).catch((): string[] => []);
    if (files.includes('undo.sh')) undoing.push(`${role}/undo.sh`);
  }
  const tasks = await readFile(join(ansible, 'roles/reset/tasks/main.yml'), 'utf8');
  const called = [...tasks.matchAll(/- (\S+\/undo\.sh)/g)].map(([, name]) => name);
  expect([...called].sort()).toEqual(undoing.sort());
  // A running kubelet would recreate the folder of the control plane's data.
  expect(called.indexOf('kubelet/undo.sh')).toBeLessThan(called.indexOf('control-plane/undo.sh'));
});
