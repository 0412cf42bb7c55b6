import { expect, it } from 'vitest';
import { type Job, type Pod, type Secret, secretData } from '#api/core.ts';
import { attemptSecretName, labels, reportSecretName } from '#api/names.ts';
import { createManualClock } from '#base/testing/manual-clock.ts';
import { clientOver } from '#runtime/client/client.ts';
import { ApiError } from '#runtime/wire/api-error.ts';
import { jobSettings } from '../testing/job-settings.fixture.ts';
import { jobInstaller } from './installer.ts';

const NONE = { get: () => undefined, byIndex: () => [], list: () => [], size: 0 };
const ref = { clusterId: 'id', sequence: 1, attempt: 1, job: 'create-x-1' };

/** Creates an installer with empty caches over a server with these objects; records the requested names. */
function overServer(objects: Record<string, Job | Secret>) {
  const asked: string[] = [];
  const client = clientOver({
    async call({ path }) {
      const name = path.split('/').at(-1) ?? '';
      asked.push(name);
      const found = objects[name];
      if (!found) throw new ApiError('NotFound', `${name} is not there`, { status: 404 });
      return found;
    },
    stream: () => Promise.reject(new Error('not here')),
    close: async () => {},
  });
  const caches = {
    jobs: NONE,
    pods: NONE,
    logs: NONE,
    secrets: NONE,
    made: new Set<string>(),
    clock: createManualClock(),
  };
  return { asked, made: caches.made, installer: jobInstaller(client, jobSettings('system'), caches) };
}
const secret: Secret = { metadata: {} };

it('calls an attempt absent if the server does not have its Secret', async () => {
  const { asked, installer } = overServer({});
  expect(await installer.observe(ref)).toEqual({ kind: 'absent' });
  expect(asked).toEqual([attemptSecretName(ref.job)]);
});

it('calls an attempt lost if its Job was deleted', async () => {
  const { made, installer } = overServer({ [attemptSecretName(ref.job)]: secret });
  expect(await installer.observe(ref)).toEqual({ kind: 'absent' });
  made.add(ref.job);
  expect(await installer.observe(ref)).toEqual({ kind: 'lost', why: 'its Job is gone' });
});

it('finds a Job on the server that the cache does not have yet', async () => {
  const job: Job = { metadata: { name: ref.job, labels: { [labels.clusterId]: 'id' } } };
  const { installer } = overServer({ [attemptSecretName(ref.job)]: secret, [ref.job]: job });
  expect(await installer.observe(ref)).toEqual({ kind: 'running' });
});

it('uses the report of a deleted Job', async () => {
  const report = { success: true, message: 'done', hosts: [] };
  const { installer } = overServer({
    [attemptSecretName(ref.job)]: secret,
    [reportSecretName(ref.job)]: { metadata: {}, data: secretData({ report: JSON.stringify(report) }) },
  });
  expect(await installer.observe(ref)).toEqual({ kind: 'succeeded', report });
});

it('lists the pod of a hook without a Job while it may still run', async () => {
  const pod = (auxiliary: string, more: Partial<Pod> = {}): Pod => ({
    metadata: {
      name: auxiliary,
      labels: { [labels.auxiliary]: auxiliary, 'batch.kubernetes.io/job-name': `${auxiliary}-x` },
      deletionTimestamp: '2026-01-01T00:00:20Z',
    },
    ...more,
  });
  const listed = (one: Pod) => {
    const pods = { ...NONE, byIndex: () => [one] };
    const client = clientOver({
      call: () => Promise.reject(new Error('not here')),
      stream: () => Promise.reject(new Error('not here')),
      close: async () => {},
    });
    const clock = createManualClock();
    const caches = { jobs: NONE, pods, logs: NONE, secrets: NONE, made: new Set<string>(), clock };
    return jobInstaller(client, jobSettings('system'), caches).list('id');
  };
  expect(await listed(pod('hook'))).toMatchObject([{ job: 'hook-x', leavesBy: '2026-01-01T00:00:20Z' }]);
  expect(await listed(pod('hook', { status: { phase: 'Failed' } }))).toEqual([]);
  expect(await listed(pod('fetch'))).toEqual([]);
});
