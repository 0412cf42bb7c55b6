import { PODS, type Pod, SECRETS, type Secret, secretData } from '#api/core.ts';
import { labels, reportSecretName } from '#api/names.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import type { Client } from '#runtime/client/client.ts';
import { statusOfEnded } from './ended-pod.ts';

/** How an attempt ends, in a world without kubelets. */
export type Ending =
  | {
      kind: 'report';
      success: boolean;
      reason?: string;
      message?: string;
      kubeconfig?: string;
      failedHosts?: string[];
    }
  /** Work done, report not delivered: exit 75 with the verdict as last words. */
  | { kind: 'undelivered'; kubeconfig?: undefined }
  | { kind: 'lost' }
  | { kind: 'hang' };

interface Told {
  success: boolean;
  hosts: { ip: string; ok: boolean; did: string[]; hostKeys?: string[]; message?: string | undefined }[];
  message: string;
  reason?: string | undefined;
  kubeconfig?: string | undefined;
}

/**
 * Ends pods of Jobs as a script says, by writing what the kubelet and the server would write; the real Job controller
 * concludes the rest. `started` lists Jobs in the order of their pods.
 */
export function endJobs(
  client: Client,
  pods: Informer<Pod>,
  script: (job: string, hosts: string[]) => Ending | Promise<Ending>,
): { started: string[] } {
  const started: string[] = [];
  pods.addHandler({
    add: (pod) => {
      const job = pod.metadata.labels?.['batch.kubernetes.io/job-name'];
      if (job === undefined) return;
      started.push(job);
      const hosts = hostsOf(pod);
      void Promise.resolve(script(job, hosts)).then((ending) => end(client, pod, job, hosts, ending));
    },
  });
  return { started };
}

function hostsOf(pod: Pod): string[] {
  const text = JSON.stringify(pod.spec);
  const lists = [...text.matchAll(/"name":"(?:MASTER|NODE)_HOSTS","value":"([^"]*)"/g)].map(
    (match) => match[1] ?? '',
  );
  return [...new Set(lists.flatMap((list) => list.split(',')).filter((ip) => ip !== ''))];
}

async function end(client: Client, pod: Pod, job: string, hosts: string[], ending: Ending): Promise<void> {
  const { namespace = '', name = '' } = pod.metadata;
  if (ending.kind === 'hang') return;
  if (ending.kind === 'lost') return exit(client, pod, 137, '');
  const told = toldBy(hosts, ending);
  if (ending.kind === 'undelivered') return exit(client, pod, 75, JSON.stringify(told));
  const secret: Secret = {
    metadata: { namespace, name: reportSecretName(job), labels: { [labels.purpose]: 'report' } },
    data: secretData({ report: JSON.stringify(told) }),
  };
  await client.create(SECRETS, secret);
  await exit(client, { ...pod, metadata: { ...pod.metadata, name } }, ending.success ? 0 : 1, '');
}

function toldBy(hosts: string[], ending: Extract<Ending, { kind: 'report' | 'undelivered' }>): Told {
  if (ending.kind === 'undelivered')
    return { success: true, message: 'done', hosts: hosts.map((ip) => ({ ip, ok: true, did: [] })) };
  const { success, kubeconfig, failedHosts = [], reason, message = success ? 'done' : 'scripted' } = ending;
  return {
    success,
    reason,
    message,
    kubeconfig,
    hosts: hosts.map((ip) => {
      const failed = failedHosts.includes(ip);
      const did = failed ? ['taken'] : ['taken', 'joined', 'reset'];
      return {
        ip,
        ok: success && !failed,
        did,
        hostKeys: ['ssh-ed25519 AAAA'],
        message: failed ? 'away' : undefined,
      };
    }),
  };
}

async function exit(client: Client, pod: Pod, exitCode: number, message: string): Promise<void> {
  const { namespace = '', name = '' } = pod.metadata;
  const status = statusOfEnded(exitCode, message);
  await client.patch(PODS, { namespace, name }, { status }, { type: 'merge', subresource: 'status' });
}
