import { describe, expect, it } from 'vitest';
import { secretText } from '#api/core.ts';
import { attemptOf } from '../testing/attempt.fixture.ts';
import { jobSettings } from '../testing/job-settings.fixture.ts';
import { jobOf, secretOf } from './manifest.ts';

const settings = jobSettings('operator');
const run = attemptOf('id1', 'create-x-1');
const hook = { ...attemptOf('id1', 'hook-x-0', { auxiliary: 'hook' }), hook: '- hosts: all\n' };

describe('the Job of a hook', () => {
  const text = JSON.stringify(jobOf(hook, settings));

  it('has no token, no address of the server, and a separate ServiceAccount', () => {
    expect(text).not.toMatch(/serviceAccountToken|SERVER_URL|server/);
    expect(text).toContain('"automountServiceAccountToken":false');
    expect(text).toContain('"serviceAccountName":"hook"');
    const other = JSON.stringify(jobOf(run, settings));
    expect(other).toContain('serviceAccountToken');
    expect(other).toContain('"serviceAccountName":"runner"');
  });

  it('has the playbook in its Secret, and runs it', () => {
    expect(text).toContain('"args":["hook"]');
    expect(secretText(secretOf(hook, settings), 'playbook.yml')).toBe('- hosts: all\n');
    expect(secretText(secretOf(run, settings), 'playbook.yml')).toBeUndefined();
  });

  it('has no registry login, which other Jobs have only in their Secret', () => {
    const registryLogin = '{"auths":{"r":{"auth":"aHVudGVyMg=="}}}';
    const access = { ...run.access, registryLogin };
    expect(secretText(secretOf({ ...hook, access }, settings), 'registry-login')).toBeUndefined();
    expect(secretText(secretOf({ ...run, access }, settings), 'registry-login')).toBe(registryLogin);
    expect(JSON.stringify(jobOf({ ...run, access }, settings))).not.toContain('aHVudGVyMg');
  });
});
