import { setTimeout as sleep } from 'node:timers/promises';
import { JOBS, type Job, SECRETS, type Secret, secretData } from '#api/core.ts';
import { reportSecretName } from '#api/names.ts';
import { createLogger } from '#base/log.ts';
import { createInformer } from '#runtime/cache/informer.ts';
import type { Client } from '#runtime/client/client.ts';

const KUBECONFIG = 'apiVersion: v1\nkind: Config\nusers: [{name: a, user: {}}]\n';

/**
 * Ends every Job `afterMs` after it appeared, as the Job controller, the kubelet, ansibleinit and the server would: the
 * report in its Secret, then the Job's condition. There are no pods, so that only the operator is measured.
 */
export async function simulateKubelet(client: Client, namespace: string, afterMs: number) {
  const stop = new AbortController();
  const under: Set<Promise<void>> = new Set();
  const failures: unknown[] = [];
  const jobs = createInformer<Job>({
    client,
    log: createLogger('error'),
    resource: JOBS,
    selection: { namespace },
  });
  jobs.addHandler({
    add: (job) => {
      if (job.status?.conditions) return;
      const one = end(client, job, afterMs).catch((error: unknown) => void failures.push(error));
      under.add(one);
      void one.finally(() => under.delete(one));
    },
  });
  const ended = jobs.run(stop.signal);
  await jobs.whenSynced();
  return async () => {
    stop.abort(new Error('done'));
    await ended;
    await Promise.all(under);
    if (failures.length > 0) throw failures[0];
  };
}

async function end(client: Client, job: Job, afterMs: number): Promise<void> {
  const { namespace = '', name = '' } = job.metadata;
  const began = new Date().toISOString();
  await sleep(afterMs);
  const hosts = [...JSON.stringify(job).matchAll(/"name":"(?:MASTER|NODE)_HOSTS","value":"([^"]*)"/g)]
    .flatMap(([, list = '']) => list.split(','))
    .filter((ip) => ip !== '');
  const report = {
    success: true,
    message: 'done',
    kubeconfig: KUBECONFIG,
    hosts: [...new Set(hosts)].map((ip) => ({
      ip,
      ok: true,
      did: ['taken', 'joined', 'reset'],
      machineId: `machine-of-${ip}`,
      hostKeys: ['ssh-ed25519 AAAA'],
    })),
  };
  const secret: Secret = {
    metadata: { namespace, name: reportSecretName(name) },
    data: secretData({ report: JSON.stringify(report) }),
  };
  await client.create(SECRETS, secret);
  const now = new Date().toISOString();
  const condition = (type: string) => ({
    type,
    status: 'True',
    reason: 'CompletionsReached',
    message: '',
    lastProbeTime: now,
    lastTransitionTime: now,
  });
  const status = {
    startTime: began,
    completionTime: now,
    succeeded: 1,
    uncountedTerminatedPods: {},
    conditions: [condition('SuccessCriteriaMet'), condition('Complete')],
  };
  await client.updateStatus<Job>(JOBS, { ...job, status });
}
