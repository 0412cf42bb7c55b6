import { expect, it } from 'vitest';
import type { Job, Pod } from '#api/core.ts';
import { EXIT } from '#protocol/exit.ts';
import { judge } from './judge.ts';

const job = (type?: string, reason?: string): Job => ({
  metadata: { name: 'create-a-1' },
  status: type ? { conditions: [{ type, status: 'True', ...(reason ? { reason } : {}) }] } : {},
});
const pod = (exitCode: number, message = ''): Pod => ({
  metadata: {},
  status: { containerStatuses: [{ name: 'ansibleinit', state: { terminated: { exitCode, message } } }] },
});
const verdict = (success: boolean) =>
  JSON.stringify({ success, reason: 'HostUnreachable', message: 'said', hosts: [] });
const report = { success: true, message: 'done', hosts: [] };

it.each([
  ['a Job without an end runs', job(), undefined, undefined, { kind: 'running', step: 'nodes' }],
  ['a complete Job did its work', job('Complete'), pod(0), report, { kind: 'succeeded', report }],
  [
    'a pod that ended well is what its Job will say, seconds later',
    job(),
    pod(0),
    report,
    { kind: 'succeeded', report },
  ],
  [
    'a pod that ended well, and whose report is not there, is left to its Job',
    job(),
    pod(0),
    undefined,
    { kind: 'running' },
  ],
  ['a pod that failed is left to its Job', job(), pod(1), report, { kind: 'running' }],
  ['a lost report does not undo the work', job('Complete'), undefined, undefined, { kind: 'succeeded' }],
  [
    'work done but not delivered is work done',
    job('Failed'),
    pod(EXIT.undelivered, verdict(true)),
    undefined,
    { kind: 'succeeded' },
  ],
  [
    'a verdict of failure is believed',
    job('Failed'),
    pod(1, verdict(false)),
    undefined,
    { kind: 'failed', reason: 'HostUnreachable' },
  ],
  [
    'the Job is believed over a report of success',
    job('Failed'),
    pod(1),
    report,
    { kind: 'failed', reason: 'Contradiction' },
  ],
  ['a killed pod says nothing: lost', job('Failed'), pod(137), undefined, { kind: 'lost' }],
  ['a pod that is gone says nothing: lost', job('Failed'), undefined, undefined, { kind: 'lost' }],
  [
    'a pod that was told to end says by when',
    job(),
    { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } },
    undefined,
    { kind: 'running', endsBy: '2026-01-01T00:00:00Z' },
  ],
  [
    'a deadline is a failure',
    job('Failed', 'DeadlineExceeded'),
    undefined,
    undefined,
    { kind: 'failed', reason: 'DeadlineExceeded' },
  ],
])('%s', (_what, given, last, reported, expected) => {
  expect(judge(given, last, reported, 'nodes')).toMatchObject(expected);
});
