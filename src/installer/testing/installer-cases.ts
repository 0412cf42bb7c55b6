import { expect, it } from 'vitest';
import { textOf } from '#api/cluster-facts.ts';
import type { Attempt, AttemptRef } from '../installer.ts';
import { attemptOf, newAttempt, secretOf } from './attempt.fixture.ts';
import type { InstallerWorld } from './installer-world.ts';

/** Limit for changes by others, which an installer may notice late. */
const LATE = { timeout: 20_000, interval: 50 };

const refOf = ({ clusterId, sequence, attempt, job }: Attempt): AttemptRef => ({
  clusterId,
  sequence,
  attempt,
  job,
});
const KUBECONFIG = 'a kubeconfig that nobody may see';
const done = { success: true, message: 'done', kubeconfig: KUBECONFIG };
const refused = { success: false, reason: 'HostUnreachable', message: '10.0.0.1 does not answer' };

/** Defines the cases that every installer passes. Each installer has a test file that runs them in its own world. */
export function everyInstaller(given: () => InstallerWorld): void {
  const becomes = (attempt: Attempt, state: object) =>
    expect.poll(() => given().installer.observe(refOf(attempt)), LATE).toMatchObject(state);
  const listed = (clusterId: string, jobs: readonly string[]) =>
    expect
      .poll(async () => (await given().installer.list(clusterId)).map(({ job }) => job).sort(), LATE)
      .toEqual([...jobs].sort());
  async function started(attempt = newAttempt()): Promise<Attempt> {
    await given().installer.start(attempt);
    await becomes(attempt, { kind: 'running' });
    await expect.poll(() => given().begun(), LATE).toContain(attempt.job);
    return attempt;
  }

  it('calls an attempt absent that was never started, and lists nothing', async () => {
    const attempt = newAttempt();
    expect(await given().installer.observe(refOf(attempt))).toEqual({ kind: 'absent' });
    expect(await given().installer.list(attempt.clusterId)).toEqual([]);
  });

  it('runs an attempt once even if it is started twice', async () => {
    const attempt = await started();
    await given().installer.start(attempt);
    await given().end(attempt.job, done);
    await becomes(attempt, { kind: 'succeeded' });
    await given().installer.start(attempt);
    expect(await given().installer.observe(refOf(attempt))).toMatchObject({ kind: 'succeeded' });
    expect(
      given()
        .begun()
        .filter((job) => job === attempt.job),
    ).toEqual([attempt.job]);
  });

  it('reports the step of a run', async () => {
    const attempt = await started();
    expect(await given().installer.observe(refOf(attempt))).not.toHaveProperty('step');
    await given().tell(attempt.job, 'nodes');
    await becomes(attempt, { kind: 'running', step: 'nodes' });
  });

  it('returns the report of a success', async () => {
    const attempt = await started();
    await given().end(attempt.job, done);
    await becomes(attempt, { kind: 'succeeded', report: done });
  });

  it('reports why a run failed, with its report', async () => {
    const attempt = await started();
    await given().end(attempt.job, refused);
    const { reason, message } = refused;
    await becomes(attempt, { kind: 'failed', reason, message, report: refused });
  });

  it('calls a run lost that ended without a report', async () => {
    const attempt = await started();
    await given().end(attempt.job, 'lost');
    await becomes(attempt, { kind: 'lost', why: expect.stringMatching(/./) });
  });

  it('calls a deleted run lost, and lists its remains until they are removed', async () => {
    const attempt = await started();
    await given().deleteByHand(attempt.job);
    await becomes(attempt, { kind: 'lost' });
    await listed(attempt.clusterId, [attempt.job]);
    await given().installer.remove(refOf(attempt));
    await listed(attempt.clusterId, []);
    expect(await given().keeps(secretOf(attempt))).toBe(false);
  });

  it('keeps the report of a run that was deleted after its end', async () => {
    const attempt = await started();
    await given().end(attempt.job, refused);
    await becomes(attempt, { kind: 'failed' });
    await given().deleteByHand(attempt.job);
    await becomes(attempt, { kind: 'failed', reason: refused.reason });
  });

  it('lists attempts and auxiliary Jobs of one cluster, each with its numbers', async () => {
    const attempt = await started();
    const { clusterId } = attempt;
    const auxiliary = await started(
      attemptOf(clusterId, `fetch-${clusterId}`, { sequence: 7, auxiliary: 'fetch' }),
    );
    await started();
    await listed(clusterId, [attempt.job, auxiliary.job]);
    const refs = await given().installer.list(clusterId);
    expect(refs).toContainEqual(refOf(attempt));
    expect(refs).toContainEqual({ ...refOf(auxiliary), auxiliary: 'fetch' });
  });

  it('stops a run when it removes the run', async () => {
    const attempt = await started();
    expect(await given().atWork()).toContain(attempt.job);
    await given().installer.remove(refOf(attempt));
    await becomes(attempt, { kind: 'absent' });
    await expect.poll(() => given().atWork(), LATE).not.toContain(attempt.job);
  });

  it('removes the credentials with a run, and allows a second removal', async () => {
    const attempt = await started();
    const report = { ...done, kubeconfig: `kubeconfig of ${attempt.job}` };
    await given().end(attempt.job, report);
    await becomes(attempt, { kind: 'succeeded', report });
    const secrets = [secretOf(attempt), report.kubeconfig];
    for (const secret of secrets) expect(await given().keeps(secret)).toBe(true);
    await given().installer.remove(refOf(attempt));
    for (const secret of secrets) expect(await given().keeps(secret)).toBe(false);
    await given().installer.remove(refOf(attempt));
    await listed(attempt.clusterId, []);
    await becomes(attempt, { kind: 'absent' });
  });

  it('keeps the log of a removed run, and forgets logs up to a sequence, or all', async () => {
    const first = await started();
    const { clusterId } = first;
    const second = await started(attemptOf(clusterId, `scale-${clusterId}-1`, { sequence: 2 }));
    const other = await started();
    for (const attempt of [first, second, other]) {
      await given().tell(attempt.job, 'nodes');
      await becomes(attempt, { step: 'nodes' });
    }
    await given().installer.remove(refOf(first));
    expect(await given().logs()).toContain(first.job);
    const cluster = textOf(first.runSpec.cluster);
    await given().installer.forget(cluster, 1);
    expect(await given().logs()).not.toContain(first.job);
    expect(await given().logs()).toContain(second.job);
    await given().installer.forget(cluster);
    expect(await given().logs()).not.toContain(second.job);
    expect(await given().logs()).toContain(other.job);
  });

  it('refuses an attempt with the name of a run of another cluster', async () => {
    const theirs = await started();
    const ours = attemptOf(newAttempt().clusterId, theirs.job);
    await expect(given().installer.start(ours)).rejects.toThrow('belongs to another cluster');
    expect(await given().installer.observe(refOf(ours))).toEqual({ kind: 'absent' });
    expect(await given().installer.list(ours.clusterId)).toEqual([]);
    expect(await given().installer.observe(refOf(theirs))).toMatchObject({ kind: 'running' });
  });
}
