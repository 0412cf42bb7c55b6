import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { z } from 'zod';
import type { RunEvent } from '#protocol/event.ts';
import type { RunSpec } from '#protocol/run-spec.ts';
import { carryOut } from './run.ts';
import type { Settings } from './settings.ts';
import { settingsIn } from './testing/settings-in.fixture.ts';

/** Run without hosts, so that only its input is checked. */
const runSpec: RunSpec = {
  task: 'create',
  callback: 'create',
  playbook: 'create.yml',
  cluster: { id: 'id1', namespace: 'default', name: 'demo', region: 'default' },
  run: { job: 'create-x-1', sequence: 1, attempt: 1 },
  steps: [{ name: 'Apply manifests', hosts: [], pace: 'one', cut: 'between' }],
  hosts: [],
  username: 'root',
  precheck: 'all',
  brings: [],
  endpoint: { name: 'api', address: '' },
  vars: {},
};
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'manifests-'));
  writeFileSync(join(dir, 'ansible-playbook'), `#!/bin/sh\ntouch ${dir}/played\n`);
  chmodSync(join(dir, 'ansible-playbook'), 0o755);
  vi.stubEnv('PATH', `${dir}:${process.env['PATH']}`);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true, force: true });
});

async function run(
  text: string,
  more: { task?: string; playbook?: undefined } | Pick<RunSpec, 'hosts' | 'steps'> = {},
  access: Settings['access'] = { knownHosts: '', password: 'x' },
) {
  const manifests = [{ name: 'addons/a.yaml', content: gzipSync(text).toString('base64') }];
  const settings: Settings = {
    ...settingsIn(dir, { ...runSpec, vars: { manifests }, ...more }),
    access,
  };
  const sent: RunEvent[] = [];
  const { signal } = new AbortController();
  const uplink = {
    send: (event: RunEvent) => void sent.push(event),
    step: () => {},
    close: async () => {},
    cancelled: signal,
  };
  const report = await carryOut(settings, uplink, signal);
  return { report, reported: sent.map(({ message }) => message) };
}
const NAMESPACE = 'apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n';

it('starts no playbook if a manifest cannot be applied', async () => {
  const { report } = await run(`${NAMESPACE}---\nkind: Pod\n`);
  expect(report).toMatchObject({
    success: false,
    reason: 'ManifestsInvalid',
    message: 'ConfigMap addons, key a.yaml, document 2: has no apiVersion or no kind; each object needs both',
  });
  expect(existsSync(join(dir, 'played'))).toBe(false);
});

it('checks manifests in a dry run too, and reports what it would apply', async () => {
  const dry = { task: 'precheck', playbook: undefined };
  expect((await run('kind: Pod', dry)).report).toMatchObject({ success: false, reason: 'ManifestsInvalid' });
  const { report, reported } = await run(NAMESPACE, dry);
  expect(report.success).toBe(true);
  expect(reported).toContain('to be applied in the cluster: ConfigMap addons, key a.yaml, objects: 1');
});

it('reports a private key that cannot be used', async () => {
  const server = createServer((socket) => void socket.write('SSH-2.0-x\r\n')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { port } = z.object({ port: z.int() }).parse(server.address());
    const host = { ip: '127.0.0.1', port, name: 'a', duties: ['control-plane' as const] };
    const more = { hosts: [{ member: host, action: 'join' as const }], steps: [] };
    const { report } = await run(NAMESPACE, more, { knownHosts: '', privateKey: 'no key' });
    expect(report).toMatchObject({
      reason: 'KeyInvalid',
      message: expect.stringContaining('key is unusable'),
    });
  } finally {
    server.close();
  }
});
