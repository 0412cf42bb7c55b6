import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { machineSeen, type RunSpec } from '#protocol/run-spec.ts';
import { sshHost } from '#ssh/testing/ssh-host.ts';
import { hookInventory, readHookSettings, runHook } from './hook.ts';

const runSpec: RunSpec = {
  task: 'preCreate[0]',
  callback: 'hook',
  cluster: { id: 'id1', namespace: 'default', name: 'demo', region: 'default' },
  run: { job: 'hook-x-0', sequence: 1, attempt: 1 },
  steps: [],
  hosts: [],
  username: 'root',
  precheck: 'reach',
  brings: [],
  endpoint: { name: 'api', address: '' },
  vars: {},
};
const PLAYBOOK = '- hosts: all\n  tasks: []\n';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'hook-'));
  mkdirSync(join(dir, 'access'));
  vi.stubEnv('PATH', `${dir}:${process.env['PATH']}`);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true, force: true });
});

/** Runs a hook with a stand-in for ansible-playbook; returns its report and output. */
async function run(script: string, signal = new AbortController().signal, hosts: RunSpec['hosts'] = []) {
  writeFileSync(join(dir, 'ansible-playbook'), `#!/bin/sh\n${script}\n`);
  chmodSync(join(dir, 'ansible-playbook'), 0o755);
  writeFileSync(join(dir, 'access/order.json'), JSON.stringify({ ...runSpec, hosts }));
  writeFileSync(join(dir, 'access/playbook.yml'), PLAYBOOK);
  writeFileSync(join(dir, 'access/password'), 'open sesame');
  const printed: string[] = [];
  const settings = readHookSettings({ MATRYOSHKA_ETC: dir, WORK_DIR: join(dir, 'work') });
  const report = await runHook(settings, (line) => printed.push(line), signal);
  return { report, printed };
}

describe('a hook', () => {
  it("runs the user's playbook without the operator's plugins, with pinned host keys", async () => {
    const { report } = await run(
      `cp "$3" ${dir}/seen.yml; cat "$ANSIBLE_CONFIG" > ${dir}/seen.cfg; echo "$ANSIBLE_SSH_ARGS" > ${dir}/seen.args`,
    );
    expect(report).toEqual({ success: true, message: 'done', hosts: [] });
    expect(readFileSync(join(dir, 'seen.yml'), 'utf8')).toBe(PLAYBOOK);
    expect(readFileSync(join(dir, 'seen.cfg'), 'utf8')).not.toContain('plugins');
    expect(readFileSync(join(dir, 'seen.args'), 'utf8')).toContain('StrictHostKeyChecking=yes');
  });

  it('fails on a non-zero exit code, and reports the error without secrets', async () => {
    const { report, printed } = await run('echo "fatal: [h]: open sesame"; echo RECAP; exit 2');
    expect(report).toMatchObject({
      success: false,
      reason: 'HookFailed',
      message: 'ansible-playbook ended with code 2: fatal: [h]: ***',
    });
    expect(printed).toEqual(['fatal: [h]: ***', 'RECAP']);
  });

  it('has the password of the user for SSH and for sudo, in a file', async () => {
    await run(`cat "$ANSIBLE_CONNECTION_PASSWORD_FILE" "$ANSIBLE_BECOME_PASSWORD_FILE" > ${dir}/seen`);
    expect(readFileSync(join(dir, 'seen'), 'utf8')).toBe('open sesame'.repeat(2));
  });

  it('does not start if sudo rejects the password, and does not try it again', async () => {
    await using host = await sshHost({ wants: 'another' });
    const { host: ip, port } = host.target('ops');
    const clusterHost = { ip, port, user: 'ops', name: 'n', duties: ['worker' as const] };
    const { report } = await run('exit 0', new AbortController().signal, [
      { member: clusterHost, action: 'stay' },
    ]);
    expect(report).toMatchObject({ success: false, reason: 'SudoRefused' });
    expect(await host.tried()).toHaveLength(1);
  });

  it('does not start if a host rejects the login', async () => {
    await using host = await sshHost('grants', undefined, () => false);
    const { host: ip, port } = host.target('root');
    const clusterHost = { ip, port, name: 'n', duties: ['worker' as const] };
    const { report } = await run('exit 0', new AbortController().signal, [
      { member: clusterHost, action: 'stay' },
    ]);
    expect(report).toMatchObject({ success: false, reason: 'AuthenticationFailed' });
  });

  it('returns no result when it is aborted', async () => {
    const stop = new AbortController();
    const running = run('echo begun; sleep 30', stop.signal);
    stop.abort(new Error('ended by SIGTERM'));
    await expect(running).rejects.toThrow('ended by SIGTERM');
  });

  it('names the missing run spec', () => {
    expect(() => readHookSettings({ MATRYOSHKA_ETC: join(dir, 'none') })).toThrow('there is no run spec at');
  });
});

it('builds groups from the plan, and uses sudo for a user other than root', () => {
  const host = (ip: string, user: string | undefined, action: 'join' | 'stay') => ({
    member: { ip, name: ip, duties: ['worker' as const], ...(user === undefined ? {} : { user }) },
    action,
  });
  const hosts = [host('10.0.0.1', undefined, 'stay'), host('10.0.0.2', 'admin', 'join')];
  const { all } = hookInventory({ ...runSpec, hosts });
  expect(all.hosts['10.0.0.1']).not.toHaveProperty('ansible_become');
  expect(all.hosts['10.0.0.2']).toMatchObject({ ansible_user: 'admin', ansible_become: true });
  expect(Object.keys(all.children.join.hosts)).toEqual(['10.0.0.2']);
  expect(Object.keys(all.children['kube-node'].hosts)).toEqual(['10.0.0.1', '10.0.0.2']);
});

it('includes joining hosts, and omits leaving hosts that do not belong to the cluster', async () => {
  await using host = await sshHost('grants');
  const { host: ip, port } = host.target('root');
  const at = (address: string) => ({ ip: address, port, name: 'n', duties: ['worker' as const] });
  const script = `cp "$2" ${dir}/seen.inventory`;
  const signal = new AbortController().signal;
  const joins = await run(script, signal, [{ member: at(ip), action: 'join' }]);
  expect(joins.report.success).toBe(true);
  expect(readFileSync(join(dir, 'seen.inventory'), 'utf8')).toContain(ip);
  const seen = [{ member: at(ip), action: 'join' as const, seen: machineSeen('another') }];
  expect((await run('exit 1', signal, seen)).report).toMatchObject({ success: false, reason: 'HostChanged' });
  const leaves = await run(script, signal, [{ member: at(ip), action: 'leave' }]);
  expect(leaves.report.success).toBe(true);
  expect(leaves.printed.join()).toContain(`${ip}: is left out`);
  expect(readFileSync(join(dir, 'seen.inventory'), 'utf8')).not.toContain(ip);
});
