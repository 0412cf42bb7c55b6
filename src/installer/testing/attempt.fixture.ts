import { randomUUID } from 'node:crypto';
import type { Attempt } from '../installer.ts';

/** Returns a password that occurs nowhere else. */
export const secretOf = ({ job }: { job: string }): string => `password of ${job}`;

/** Returns an attempt of a new cluster. */
export function newAttempt(more: Partial<Pick<Attempt, 'auxiliary' | 'sequence'>> = {}): Attempt {
  const clusterId = randomUUID().slice(0, 8);
  return attemptOf(clusterId, `create-${clusterId}-1`, more);
}

export function attemptOf(
  clusterId: string,
  job: string,
  { sequence = 1, auxiliary }: Partial<Pick<Attempt, 'auxiliary' | 'sequence'>> = {},
): Attempt {
  const run = { job, sequence, attempt: 1 };
  return {
    ...run,
    clusterId,
    ...(auxiliary === undefined ? {} : { auxiliary }),
    deadlineSeconds: 600,
    access: { username: 'root', password: secretOf(run), knownHosts: '' },
    runSpec: {
      task: auxiliary ?? 'create',
      callback: 'create',
      cluster: { id: clusterId, namespace: 'default', name: clusterId, region: '' },
      run,
      steps: [],
      hosts: [],
      username: 'root',
      precheck: 'all',
      brings: [],
      endpoint: { name: `api.${clusterId}.matryoshka.internal`, address: '' },
      vars: {},
    },
  };
}
