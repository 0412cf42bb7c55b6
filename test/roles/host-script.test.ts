import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { CLEAN } from '#ssh/framed.ts';
import { noisyShell, POLLUTED } from '#ssh/testing/noisy-shell.ts';

/** The action plugin, with the part of Ansible that runs a command line in a login shell. */
const plugin = join(import.meta.dirname, '../../ansible/plugins/action/host_script.py');
const STUB = `
import json, os, shlex, subprocess, sys, types
def module(name, **parts):
    made = types.ModuleType(name); made.__dict__.update(parts); sys.modules[name] = made
text = lambda value: value if isinstance(value, str) else value.decode('utf-8', 'surrogateescape')
class ActionBase:
    def run(self, tmp, task_vars): return {}
    def _get_remote_user(self): return 'root'
    def _find_needle(self, kind, name): return name
    def _low_level_execute_command(self, command, in_data, sudoable, executable):
        line = executable + ' -c ' + shlex.quote(command)
        done = subprocess.run([sys.argv[2], '-c', line], input=in_data, capture_output=True)
        out, err = done.stdout.decode(), done.stderr.decode()
        return {'rc': done.returncode, 'stdout': out, 'stderr': err, 'stdout_lines': out.splitlines()}
module('ansible'); module('ansible.plugins'); module('ansible.module_utils'); module('ansible.module_utils.common'); module('ansible.module_utils.common.text')
module('ansible.errors', AnsibleActionFail=Exception)
module('ansible.module_utils.common.text.converters', to_bytes=lambda value: value.encode(), to_text=text)
module('ansible.plugins.action', ActionBase=ActionBase)
import importlib.util
spec = importlib.util.spec_from_file_location('host_script', sys.argv[1]); found = importlib.util.module_from_spec(spec); spec.loader.exec_module(found)
action = found.ActionModule()
# A script has a path of its own here.
found.ActionModule._path = lambda self, name, task_vars: name
action._play_context = types.SimpleNamespace(executable='/bin/sh', password=None)
action._task = types.SimpleNamespace(args=json.loads(sys.argv[3]), _role=types.SimpleNamespace(get_name=lambda: 'role'))
print(json.dumps(action.run(None, {'playbook_dir': '.'})))
`;
const hasPython = (await execa('python3', ['--version'], { reject: false })).exitCode === 0;
const Result = z.object({
  rc: z.number(),
  failed: z.boolean().optional(),
  msg: z.string().optional(),
  facts: z.record(z.string(), z.string()),
  changes: z.array(z.string()),
});

async function play(script: string, args: Readonly<Record<string, unknown>> = {}) {
  await using shell = await noisyShell({ 'script.sh': script });
  const all = { seals: false, ...args, script: join(shell.folder, 'script.sh') };
  // A path with a single slash names a role's script; this one has more.
  const { stdout } = await execa('python3', ['-c', STUB, plugin, shell.path, JSON.stringify(all)], {
    env: { ...POLLUTED, PATH: process.env['PATH'] },
    extendEnv: false,
  });
  return Result.parse(JSON.parse(stdout.split('\n').at(-1) ?? ''));
}

describe.skipIf(!hasPython)('a script on a host with a noisy shell', () => {
  it('returns only its own results, and runs in a clean environment', async () => {
    const { facts, changes, rc } = await play(
      `result a 1; changed something; result left "$(env | grep -ciE 'proxy|TMPDIR|ETCDCTL|GREP_OPTIONS|POSIXLY|POLLUTED')"; result locale "$LC_ALL"; result cat "$(echo own | cat)"`,
    );
    expect([rc, facts, changes]).toEqual([0, { a: '1', left: '0', locale: 'C', cat: 'own' }, ['something']]);
  });

  it('fails with its own exit code and message', async () => {
    expect(await play(`fail 'no such thing'`)).toMatchObject({ rc: 1, failed: true, msg: 'no such thing' });
  });

  it('fails if the host ends it with an exit code of thousands of digits', async () => {
    const result = await play(
      `mark=$(declare -f framed | grep -o 'matryoshka-[0-9a-f]*' | head -n 1); printf '%s %05000d\\n' "$mark" 9; kill -9 $$`,
    );
    expect(result.failed).toBe(true);
  });

  it('returns an output file byte for byte', async () => {
    await using shell = await noisyShell({});
    const output = join(shell.folder, 'kubeconfig');
    await play(`printf 'apiVersion: v1\\nclusters: []'`, { output });
    expect(await readFile(output, 'utf8')).toBe('apiVersion: v1\nclusters: []');
  });
});

it('the plugin cleans the environment as src/ssh does', async () => {
  expect(await readFile(plugin, 'utf8')).toContain(`CLEAN = """${CLEAN}"""`);
});
