import { expect, it } from 'vitest';
import { said } from '#precheck/said.ts';
import { machineSeen, type RunOrder } from '#protocol/order.ts';
import { hostReports } from './host-reports.ts';

it('tells key and id of a host, and neither of a machine that is not let in', () => {
  const order = (id: string): RunOrder => ({
    ...{
      task: 'create',
      callback: 'create',
      steps: [],
      username: 'root',
      precheck: 'all',
      brings: [],
      vars: {},
    },
    cluster: { id: 'c1', namespace: 'a', name: 'demo', region: 'default' },
    run: { job: 'create-x-1', sequence: 1, attempt: 1 },
    endpoint: { name: 'api', address: '' },
    hosts: [{ member: { ip: 'w1', name: 'w1', duties: ['worker'] }, action: 'join', seen: machineSeen(id) }],
  });
  const findings = {
    found: {
      ...{ problems: [], connections: new Map(), sudoAsks: new Set<string>() },
      knownHosts: 'w1 ssh-ed25519 AAAA',
      said: new Map([['w1', said('@machineId id-a')]]),
    },
    ...{ failures: new Map(), played: new Map(), versions: new Map(), untouched: new Set<string>() },
    ...{ steps: [], cutShort: false },
  };
  const [agreed] = hostReports(order('id-a'), findings, false);
  expect(agreed).toMatchObject({ machineId: 'id-a', hostKeys: ['ssh-ed25519 AAAA'] });
  const [stranger] = hostReports(order('id-b'), findings, false);
  expect(stranger).not.toHaveProperty('machineId');
  expect(stranger).not.toHaveProperty('hostKeys');
});

it.each([
  ['is another cluster’s by its own word', '@owner {"clusterId":"c2"}', true],
  ['was released', '@owner {"clusterId":"c1","released":true}', true],
  ['has no owner file, and is another machine', '', true],
  ['has no owner file any more, and is the same machine', '@machineId id-a', false],
  ['has an owner file that cannot be read', '@owner {"clus', false],
])('tells whether a host that leaves carries nothing of the cluster: it %s', (_what, says, ok) => {
  const findings = {
    found: {
      ...{ problems: [], connections: new Map(), sudoAsks: new Set<string>() },
      knownHosts: '',
      said: new Map([['w1', said(says)]]),
    },
    ...{ failures: new Map(), played: new Map(), versions: new Map(), untouched: new Set(['w1']) },
    ...{ steps: [], cutShort: false },
  };
  const [host] = hostReports(
    {
      ...{
        task: 'terminate',
        callback: 'terminate',
        steps: [],
        username: 'root',
        precheck: 'all',
        brings: [],
      },
      vars: {},
      cluster: { id: 'c1', namespace: 'a', name: 'demo', region: 'default' },
      run: { job: 'terminate-x-1', sequence: 1, attempt: 1 },
      endpoint: { name: 'api', address: '' },
      hosts: [{ member: { ip: 'w1', name: 'w1', duties: ['worker'] }, action: 'leave', machineId: 'id-a' }],
    },
    findings,
    true,
  );
  expect(host?.ok).toBe(ok);
  expect(host?.message ?? 'owner file').toContain('owner file');
});
