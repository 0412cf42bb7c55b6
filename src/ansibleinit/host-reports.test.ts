import { expect, it } from 'vitest';
import { said } from '#precheck/said.ts';
import { machineSeen, type PlannedHost, type RunSpec } from '#protocol/run-spec.ts';
import { hostReports } from './host-reports.ts';

/** Returns a run spec with one host, w1. */
const runSpec = (task: RunSpec['task'], host: Omit<PlannedHost, 'member'>): RunSpec => ({
  task,
  callback: 'create',
  steps: [],
  username: 'root',
  precheck: 'all',
  brings: [],
  vars: {},
  cluster: { id: 'c1', namespace: 'a', name: 'demo', region: 'default' },
  run: { job: `${task}-x-1`, sequence: 1, attempt: 1 },
  endpoint: { name: 'api', address: '' },
  hosts: [{ member: { ip: 'w1', name: 'w1', duties: ['worker'] }, ...host }],
});

/** Returns the findings for a host with this output. */
const findings = (says: string, { knownHosts = '', untouched = [] as string[] } = {}) => ({
  found: {
    ...{ problems: [], connections: new Map(), sudoAsks: new Set<string>() },
    knownHosts,
    said: new Map([['w1', said(says)]]),
  },
  ...{ failures: new Map(), played: new Map(), versions: new Map(), untouched: new Set(untouched) },
  ...{ steps: [], cutShort: false },
});

it('reports host key and machine id, except for an unexpected machine', () => {
  const seen = findings('@machineId id-a', { knownHosts: 'w1 ssh-ed25519 AAAA' });
  const of = (id: string) => runSpec('create', { action: 'join', seen: machineSeen(id) });
  const [agreed] = hostReports(of('id-a'), seen, false);
  expect(agreed).toMatchObject({ machineId: 'id-a', hostKeys: ['ssh-ed25519 AAAA'] });
  const [stranger] = hostReports(of('id-b'), seen, false);
  expect(stranger).not.toHaveProperty('machineId');
  expect(stranger).not.toHaveProperty('hostKeys');
});

it.each([
  ['is another cluster’s by its own word', '@owner {"clusterId":"c2"}', true],
  ['was released', '@owner {"clusterId":"c1","released":true}', true],
  ['has no owner file, and is another machine', '', true],
  ['has no owner file any more, and is the same machine', '@machineId id-a', false],
  ['has an owner file that cannot be read', '@owner {"clus', false],
])('reports whether a leaving host has nothing of the cluster left: it %s', (_what, says, ok) => {
  const left = runSpec('terminate', { action: 'leave', machineId: 'id-a' });
  const [host] = hostReports(left, findings(says, { untouched: ['w1'] }), true);
  expect(host?.ok).toBe(ok);
  expect(host?.message ?? 'owner file').toContain('owner file');
});
