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

describe('the Job of a run with snapshots', () => {
  const storage = { kind: 'directory', path: '/var/lib/matryoshka/snapshots' } as const;
  const withSnapshots = { ...run, access: { ...run.access, snapshots: { identity: 'AGE-KEY', storage } } };
  const claimed = { ...settings, snapshotClaim: 'claim' };

  it('mounts the folder of its own cluster only, and has the key in its Secret only', () => {
    const text = JSON.stringify(jobOf(withSnapshots, claimed));
    expect(text).toContain('"persistentVolumeClaim":{"claimName":"claim"}');
    expect(text).toContain(
      '{"name":"snapshots","mountPath":"/var/lib/matryoshka/snapshots","subPath":"id1"}',
    );
    expect(text).not.toContain('AGE-KEY');
    expect(secretText(secretOf(withSnapshots, claimed), 'snapshots.json')).toContain('AGE-KEY');
  });

  it('mounts no volume for storage of the user', () => {
    const s3 = {
      kind: 's3',
      endpoint: 'https://s3.example.com',
      bucket: 'b',
      region: 'r',
      prefix: '',
      accessKeyId: 'id',
      secretAccessKey: 'key',
    } as const;
    const access = { ...run.access, snapshots: { identity: 'AGE-KEY', storage: s3 } };
    expect(JSON.stringify(jobOf({ ...run, access }, claimed))).not.toContain('persistentVolumeClaim');
  });

  it('is the only one with space for a snapshot', () => {
    const text = JSON.stringify(jobOf(run, claimed));
    expect(text).not.toMatch(/scratch|persistentVolumeClaim/);
    expect(secretText(secretOf(run, claimed), 'snapshots.json')).toBeUndefined();
    const theirs = { ...withSnapshots, hook: '- hosts: all\n' };
    expect(secretText(secretOf(theirs, claimed), 'snapshots.json')).toBeUndefined();
  });
});
