import { expect, it } from 'vitest';
import type { Cluster } from './clusters.ts';
import { problemsOf, tokenLeft } from './doctor.ts';

const condition = (type: string, status: 'True' | 'False' | 'Unknown', reason = 'Why', message = 'so') => ({
  ...{ type, status, reason, message },
  lastTransitionTime: '2026-11-29T10:00:00Z',
});

const cluster = (status: Partial<Cluster['status']>): Cluster => ({
  metadata: { name: 'demo', namespace: 'default', annotations: {} },
  spec: { cluster: { region: 'default', masterList: [], nodeList: [], etcdList: [] } },
  status: { conditions: [], hosts: [], version: 'v1.35.4', ...status },
});

it('finds nothing in a healthy cluster', () => {
  const conditions = [condition('Ready', 'True'), condition('UpToDate', 'False')];
  expect(problemsOf(cluster({ conditions }))).toEqual([]);
});

it('names the command that fixes each problem', () => {
  const found = problemsOf(
    cluster({
      conditions: [
        condition('Stalled', 'True', 'OperationFailed', 'no space'),
        condition('CertificatesValid', 'False', 'Expired', 'apiserver expired'),
        condition('HostsAsMade', 'False', 'Drifted', '192.0.2.11 drifted'),
      ],
      hosts: [{ ip: '192.0.2.12', state: 'Unclean', message: 'was away' }],
    }),
  );
  expect(found.map(({ fix }) => fix)).toEqual([
    'matryoshka logs demo, then matryoshka retry demo',
    'matryoshka renew demo',
    'matryoshka repair demo',
    'docs/troubleshooting.md#hostunclean',
  ]);
  expect(found[3]?.problem).toBe('host 192.0.2.12 left and could not be reset: was away');
});

it('offers to give up a host that could not join', () => {
  const conditions = [condition('Stalled', 'True', 'OperationFailed')];
  const operation = {
    id: 'x',
    name: 'scale-up',
    requestId: 'x',
    step: 'x',
    startedAt: '2026-11-29T10:00:00Z',
    result: 'failed',
  };
  expect(problemsOf(cluster({ conditions, operation }))[0]?.fix).toBe(
    'matryoshka logs demo, then matryoshka retry demo, or matryoshka scale demo --remove HOST if a host cannot join',
  );
});

it('points to the section of a reason without a command', () => {
  const conditions = [condition('Stalled', 'True', 'NamespaceNotServed')];
  expect(problemsOf(cluster({ conditions }))[0]?.fix).toBe('docs/troubleshooting.md#namespacenotserved');
});

it('does not judge a cluster that is not created yet', () => {
  expect(problemsOf(cluster({ version: undefined, conditions: [condition('Ready', 'False')] }))).toEqual([]);
});

it('reads the end of a token', () => {
  const now = new Date('2026-11-29T10:00:00Z');
  const token = (claims: object) => `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`;
  expect(tokenLeft(token({ exp: now.getTime() / 1000 + 60 }), now)).toBe(60_000);
  expect(tokenLeft(token({}), now)).toBeUndefined();
  expect(tokenLeft('opaque', now)).toBeUndefined();
});
