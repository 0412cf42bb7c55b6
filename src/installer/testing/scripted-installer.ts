import { textOf } from '#api/cluster-facts.ts';
import { type Report, reportSchema } from '#protocol/report.ts';
import type { Attempt, AttemptRef, AttemptState } from '../installer.ts';
import type { InstallerWorld } from './installer-world.ts';

interface Run {
  attempt: Attempt;
  work: 'going' | 'over' | 'deleted';
  report?: Report;
  step?: string;
}

interface Log {
  cluster: string;
  sequence: number;
}

const refOf = ({ clusterId, sequence, attempt, job, auxiliary }: Attempt): AttemptRef => ({
  clusterId,
  sequence,
  attempt,
  job,
  ...(auxiliary === undefined ? {} : { auxiliary }),
});

function stateOf({ work, report, step }: Run): AttemptState {
  if (report) {
    const { success, message, reason = 'OperationFailed' } = report;
    return success ? { kind: 'succeeded', report } : { kind: 'failed', reason, message, report };
  }
  if (work === 'going') return { kind: 'running', ...(step === undefined ? {} : { step }) };
  return { kind: 'lost', why: work === 'over' ? 'it ended without a word' : 'it is gone' };
}

/** Creates an installer in memory, whose runs the test controls. */
export function scriptedInstaller(): InstallerWorld {
  const runs = new Map<string, Run>();
  const logs = new Map<string, Log>();
  const begun: string[] = [];
  const known = (job: string): Run => {
    const run = runs.get(job);
    if (!run) throw new Error(`no run ${job} was started`);
    return run;
  };

  return {
    installer: {
      async start(attempt) {
        const found = runs.get(attempt.job);
        if (found && found.attempt.clusterId !== attempt.clusterId)
          throw new Error('a run of that name belongs to another cluster');
        if (found) return;
        runs.set(attempt.job, { attempt, work: 'going' });
        begun.push(attempt.job);
      },
      async observe({ job, clusterId }) {
        const run = runs.get(job);
        return run?.attempt.clusterId === clusterId ? stateOf(run) : { kind: 'absent' };
      },
      async list(clusterId) {
        const all = [...runs.values()].map(({ attempt }) => refOf(attempt));
        return all.filter((ref) => ref.clusterId === clusterId);
      },
      async remove({ job }) {
        runs.delete(job);
      },
      async forget(cluster, sequence = Number.POSITIVE_INFINITY) {
        for (const [job, log] of logs)
          if (log.cluster === cluster && log.sequence <= sequence) logs.delete(job);
      },
    },
    begun: () => begun,
    atWork: async () => [...runs].filter(([, { work }]) => work === 'going').map(([job]) => job),
    async tell(job, step) {
      const run = known(job);
      run.step = step;
      logs.set(job, { cluster: textOf(run.attempt.runSpec.cluster), sequence: run.attempt.sequence });
    },
    async end(job, ending) {
      const run = known(job);
      run.work = 'over';
      if (ending !== 'lost') run.report = reportSchema.parse(ending);
    },
    async deleteByHand(job) {
      known(job).work = 'deleted';
    },
    keeps: async (text) => JSON.stringify([...runs.values()]).includes(text),
    logs: async () => [...logs.keys()],
  };
}
