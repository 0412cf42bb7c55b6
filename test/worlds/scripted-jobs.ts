import type { z } from 'zod';
import { PODS, type Pod, SECRETS, type Secret, secretData, secretText } from '#api/core.ts';
import { attemptSecretName, labels, reportSecretName } from '#api/names.ts';
import type { HostResult } from '#protocol/event.ts';
import type { reportSchema } from '#protocol/report.ts';
import { type Action, RUN_SPEC_FILE, type RunSpec, runSpecSchema } from '#protocol/run-spec.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import type { Client } from '#runtime/client/client.ts';
import { statusOfEnded } from './ended-pod.ts';

/** Result of an attempt in a test without kubelets. */
export type Ending =
  | {
      kind: 'report';
      success: boolean;
      reason?: string;
      message?: string;
      kubeconfig?: string;
      failedHosts?: string[];
      /** No host accepted the run. */
      isShutOut?: true;
      /** The latest sequence that hosts have seen. */
      hostsAt?: number;
      /** Hosts whose work was not done. Default: all hosts of a failed run. */
      undone?: string[];
      /** The step after which it stopped. Default: the last step. */
      lastStep?: string;
    }
  /** The work is done, but the report was not delivered: exit 75 with the verdict as termination message. */
  | { kind: 'undelivered'; kubeconfig?: undefined }
  /** The end of a hook: an exit code, with the verdict as termination message. */
  | { kind: 'exit'; code: number; reason?: string; message?: string }
  | { kind: 'lost' }
  | { kind: 'hang' };

/**
 * Ends pods of Jobs as a script defines, by writing what the kubelet and the server would write. The real Job controller
 * does the rest. `started` lists Jobs in the order of their pods.
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
  if (ending.kind === 'exit') {
    const { code, reason, message = 'done' } = ending;
    return exit(client, pod, code, JSON.stringify({ success: code === 0, reason, message, hosts: [] }));
  }
  const runSpec = await orderOf(client, namespace, job);
  const reported = reportedBy(runSpec, hosts, ending);
  if (ending.kind === 'undelivered') return exit(client, pod, 75, JSON.stringify(reported));
  const secret: Secret = {
    metadata: { namespace, name: reportSecretName(job), labels: { [labels.purpose]: 'report' } },
    data: secretData({ report: JSON.stringify(reported) }),
  };
  await client.create(SECRETS, secret);
  await exit(client, { ...pod, metadata: { ...pod.metadata, name } }, ending.success ? 0 : 1, '');
}

/** Returns the run spec of a Job; undefined if its Secret was deleted. */
async function orderOf(client: Client, namespace: string, job: string): Promise<RunSpec | undefined> {
  const secret = await client.find<Secret>(SECRETS, { namespace, name: attemptSecretName(job) });
  const text = secretText(secret, RUN_SPEC_FILE);
  return text === undefined ? undefined : runSpecSchema.parse(JSON.parse(text));
}

/** Results of a host after its work is done, by its action, as the role scripts report them. */
const DID: Readonly<Record<Action, HostResult[]>> = {
  join: ['taken', 'prepared', 'joined'],
  change: ['taken', 'changed'],
  leave: ['taken', 'reset'],
  stay: ['taken'],
};

/** Returns the report of a run that ended as the script defines, with every host of the run spec and all steps that ran. */
function reportedBy(
  runSpec: RunSpec | undefined,
  ips: readonly string[],
  ending: Extract<Ending, { kind: 'report' | 'undelivered' }>,
): z.input<typeof reportSchema> {
  const all = runSpec?.hosts.map(({ member: { ip }, action }) => ({ ip, action }));
  const hosts = all ?? ips.map((ip) => ({ ip, action: 'join' as const }));
  const names = runSpec?.steps.map(({ name }) => name);
  if (ending.kind === 'undelivered') {
    const done = hosts.map(({ ip, action }) => ({ ip, ok: true, did: DID[action] }));
    return { success: true, message: 'done', hosts: done, steps: names };
  }
  const { success, kubeconfig, failedHosts = [], reason, lastStep, hostsAt, isShutOut } = ending;
  const { message = success ? 'done' : 'scripted', undone = success ? [] : hosts.map(({ ip }) => ip) } =
    ending;
  return {
    success,
    reason,
    message,
    kubeconfig,
    hostsAt,
    steps: names?.slice(0, lastStep === undefined ? undefined : names.indexOf(lastStep) + 1),
    hosts: hosts.map(({ ip, action }) => {
      const failed = failedHosts.includes(ip);
      if (isShutOut) return { ip, ok: false, message: 'refuses the key' };
      const ok = !failed && !undone.includes(ip);
      const did = ok ? DID[action] : ['taken' as const];
      return { ip, ok, did, hostKeys: ['ssh-ed25519 AAAA'], message: failed ? 'away' : undefined };
    }),
  };
}

async function exit(client: Client, pod: Pod, exitCode: number, message: string): Promise<void> {
  const { namespace = '', name = '' } = pod.metadata;
  const status = statusOfEnded(exitCode, message);
  await client.patch(PODS, { namespace, name }, { status }, { type: 'merge', subresource: 'status' });
}
