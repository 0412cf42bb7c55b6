import { parse } from 'yaml';
import { z } from 'zod';
import { CONFIG_MAPS, JOBS, type Job, PODS, type Pod, SECRETS, type Secret, secretData } from '#api/core.ts';
import type { KubeObject } from '#api/meta.ts';
import { internalAnnotations, labels, logHeadName, reportSecretName } from '#api/names.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import type { Client } from '#runtime/client/client.ts';
import { isNotFound } from '#runtime/wire/api-error.ts';
import { statusOfEnded } from '../worlds/ended-pod.ts';
import { isAway } from './away.ts';
import { type Hosts, type Run, type Running, STALE_RUN } from './hosts.ts';
import type { Fault } from './plan.ts';
import type { Quiet } from './quiet.ts';

const KUBECONFIG = 'apiVersion: v1\nkind: Config\nusers: [{name: a, user: {}}]\n';

/** The Job controller, the kubelet and ansibleinit in one, for Jobs of one namespace. */
export interface Kubelet {
  /** Uids of all Jobs that were seen, by name. */
  readonly jobs: ReadonlyMap<string, readonly string[]>;
  /** Violations that were found. */
  readonly complaints: readonly string[];
  /** Notifies the waiting runs of the cancellation; they stop and report. */
  stopRuns(): void;
}

interface KubeletDeps {
  client: Client;
  jobs: Informer<Job>;
  hosts: Hosts;
  quiet: Quiet;
  /** Returns the fault for the nth run of this step, if any. */
  faultOf(): Fault | undefined;
  /** Whether hosts currently refuse changes. */
  refuses(): boolean;
  /** Returns a function that cancels the running operation, as a user does; undefined if this plan cancels nothing. */
  cancel(): (() => Promise<void>) | undefined;
  /** Adds a worker to the spec during the run, as a user may do. */
  editSpec(): Promise<void>;
}

const templateSchema = z.object({
  template: z.object({
    metadata: z.object({
      labels: z.record(z.string(), z.string()),
      annotations: z.record(z.string(), z.string()),
    }),
    spec: z.looseObject({
      containers: z.array(
        z.looseObject({ env: z.array(z.object({ name: z.string(), value: z.string().optional() })) }),
      ),
    }),
  }),
});
const group = z.object({ hosts: z.record(z.string(), z.object({})) });
const inventorySchema = z.object({
  all: z.object({
    hosts: z.record(z.string(), z.object({ node_name: z.string() })),
    children: z.object({ join: group, change: group, leave: group, stay: group }),
  }),
});

interface Work {
  job: Job;
  pod: Pod;
  run: Run;
  leaving: string[];
  working: string[];
  joining: string[];
  nodeOf(ip: string): string;
  commands: Running[];
  cut: boolean;
}

export function runJobs({
  client,
  jobs,
  hosts,
  quiet,
  faultOf,
  refuses,
  cancel,
  editSpec,
}: KubeletDeps): Kubelet {
  const seen = new Map<string, string[]>();
  const works = new Map<string, Work>();
  /** Runs that end only when they are notified. */
  const waiting = new Set<Work>();
  /** Addresses of nodes, by node name. */
  const nodes = new Map<string, string>();
  const complaints: string[] = [];
  /** Runs whose remote commands continued after their pods were killed. */
  const lingering: { run: Run; ip: string; command: Running }[] = [];
  const during = (task: Promise<void>) => {
    const end = quiet.begin();
    task.catch((error: unknown) => void complaints.push(`kubelet: ${String(error)}`)).finally(end);
  };
  const expecting = async <T extends KubeObject>(written: Promise<T>): Promise<T> => {
    const object = await written;
    quiet.expect(object);
    return object;
  };

  jobs.addHandler({
    add: (job) => {
      const { name = '', uid = '' } = job.metadata;
      const uids = seen.get(name) ?? [];
      seen.set(name, [...uids, uid]);
      if (job.status?.conditions === undefined) during(start(job));
    },
    delete: (job) => during(clear(job)),
  });

  async function start(job: Job): Promise<void> {
    const { namespace = '', name = '', uid = '' } = job.metadata;
    const { template } = templateSchema.parse(job.spec);
    const env = new Map(
      template.spec.containers[0]?.env.map(({ name: key, value }) => [key, value ?? '']) ?? [],
    );
    // Only the metadata of a Pod is typed here; its spec is a copy of the Job's template.
    const podSpec: object = { spec: template.spec };
    const pod = await expecting(
      client.create<Pod>(PODS, {
        metadata: {
          namespace,
          name: `${name}-${uid.slice(0, 5)}`,
          labels: { ...template.metadata.labels, 'batch.kubernetes.io/job-name': name },
          annotations: template.metadata.annotations,
        },
        ...podSpec,
      }),
    );
    const { hosts: named, children } = inventorySchema.parse(parse(env.get('HOSTS_YAML') ?? '')).all;
    const ips = (of: z.infer<typeof group>) => Object.keys(of.hosts);
    const work: Work = {
      job,
      pod,
      run: [
        env.get('CLUSTER_ID') ?? '',
        env.get('SEQUENCE') ?? '',
        env.get('ATTEMPT') ?? '',
        pod.metadata.uid ?? '',
      ],
      leaving: ips(children.leave),
      working: [...ips(children.stay), ...ips(children.change), ...ips(children.join)],
      joining: ips(children.join),
      nodeOf: (ip) => named[ip]?.node_name ?? '',
      commands: [],
      cut: false,
    };
    works.set(name, work);
    if (env.get('OPERATION') === 'fetch') return end(work, 0, {});
    await reportStep(work, 'precheck');
    await carryOut(work, faultOf());
  }

  async function carryOut(work: Work, fault: Fault | undefined): Promise<void> {
    const { run, job } = work;
    if (fault?.kind === 'linger' || fault?.kind === 'pod-killed' || fault?.kind === 'job-deleted') {
      const [ip = ''] = [...work.working, ...work.leaving];
      const command = hosts.hang(ip, run);
      work.commands.push(command);
      await command.begun;
      if (fault.kind === 'linger') lingering.push({ run, ip, command });
      else command.kill();
      if (fault.kind === 'job-deleted') return removeByHand(job);
      return end(work, 137);
    }
    if (fault?.kind === 'spec-edited') await editSpec();
    // Precheck: a joining host that does not answer ends the run before any host is touched.
    if (work.joining.some(isAway)) return end(work, 1, {}, { touched: false });
    const begin = (ip: string) => (work.leaving.includes(ip) ? hosts.reset(ip, run) : hosts.make(ip, run));
    work.commands = [...work.working, ...work.leaving].filter((ip) => !isAway(ip)).map(begin);
    const codes = await Promise.all(work.commands.map(({ exit }) => exit));
    if (fault?.kind === 'double-run') await runTwice(work);
    await strayRuns();
    if (work.cut) return;
    const failed = codes.find((code) => code !== 0);
    if (failed !== undefined) complaints.push(`${job.metadata.name}: a host answered ${failed}`);
    if (refuses()) return end(work, 1, {});
    const cancels = cancel();
    if (cancels) {
      waiting.add(work);
      return cancels();
    }
    moveNodes(work);
    if (fault?.kind === 'report-lost') return end(work, 75);
    return end(work, failed === undefined ? 0 : 1, {});
  }

  /** Updates the nodes of the created cluster as a run does. The cluster knows nodes by name only. */
  function moveNodes({ joining, leaving, nodeOf }: Work): void {
    for (const ip of leaving) {
      const holder = nodes.get(nodeOf(ip));
      if (holder !== undefined && holder !== ip)
        complaints.push(`node ${nodeOf(ip)} of ${holder} was removed in the name of ${ip}`);
      nodes.delete(nodeOf(ip));
    }
    for (const ip of joining) nodes.set(nodeOf(ip), ip);
  }

  /** Runs the same attempt in a second pod. The fence must refuse it on every host that the first pod has taken. */
  async function runTwice({ run, working, leaving }: Work): Promise<void> {
    const [cluster, sequence, attempt] = run;
    for (const ip of [...working, ...leaving].filter((one) => !isAway(one))) {
      const code = await hosts.make(ip, [cluster, sequence, attempt, 'another-pod']).exit;
      if (code !== STALE_RUN)
        complaints.push(`a second pod of ${sequence}.${attempt} got ${code} from ${ip}`);
    }
  }

  /** Checks that commands of a superseded run have ended, and that the fence refuses its next command. */
  async function strayRuns(): Promise<void> {
    for (const { run, ip, command } of lingering.splice(0)) {
      await command.exit;
      const code = await hosts.stray(ip, run).exit;
      if (code !== STALE_RUN) complaints.push(`the superseded run ${run.join('.')} got ${code} from ${ip}`);
    }
  }

  async function reportStep({ job, run }: Work, step: string): Promise<void> {
    const { namespace = '', name = '', annotations = {} } = job.metadata;
    await expecting(
      client.create(CONFIG_MAPS, {
        metadata: {
          namespace,
          name: logHeadName(name),
          labels: { [labels.purpose]: 'log', [labels.clusterId]: run[0] },
          annotations: {
            [internalAnnotations.cluster]: annotations[internalAnnotations.cluster] ?? '',
            [internalAnnotations.step]: step,
          },
        },
      }),
    );
  }

  /** Writes what the server, the kubelet and the Job controller write when a pod ends. */
  async function end(
    work: Work,
    exitCode: number,
    report?: object,
    { touched = true, reason }: { touched?: boolean; reason?: string } = {},
  ): Promise<void> {
    const { job, pod, working, leaving } = work;
    const { namespace = '', name = '' } = job.metadata;
    const reported = {
      success: exitCode === 0 || exitCode === 75,
      ...(reason === undefined ? {} : { reason }),
      message: exitCode === 1 ? 'a host refused' : 'done',
      hosts: [...working, ...leaving].map((ip) => ({
        ip,
        ok: exitCode !== 1 && !isAway(ip),
        did:
          !touched || isAway(ip)
            ? []
            : exitCode === 1
              ? ['taken']
              : ['taken', leaving.includes(ip) ? 'reset' : 'joined'],
        hostKeys: ['ssh-ed25519 AAAA'],
      })),
    };
    if (report) {
      const full = { ...reported, kubeconfig: KUBECONFIG };
      const secret: Secret = {
        metadata: { namespace, name: reportSecretName(name), labels: { [labels.purpose]: 'report' } },
        data: secretData({ report: JSON.stringify(full) }),
      };
      await client.create(SECRETS, secret);
    }
    const now = new Date().toISOString();
    const message = exitCode === 75 ? JSON.stringify(reported) : '';
    const condition = (type: string) => ({
      type,
      status: 'True',
      reason: 'Scripted',
      message: '',
      lastProbeTime: now,
      lastTransitionTime: now,
    });
    const status =
      exitCode === 0
        ? {
            startTime: now,
            completionTime: now,
            succeeded: 1,
            conditions: ['SuccessCriteriaMet', 'Complete'].map(condition),
          }
        : { startTime: now, failed: 1, conditions: ['FailureTarget', 'Failed'].map(condition) };
    const toStatus = { type: 'merge', subresource: 'status' } as const;
    try {
      await expecting(
        client.patch(
          PODS,
          { namespace, name: pod.metadata.name ?? '' },
          { status: statusOfEnded(exitCode, message) },
          toStatus,
        ),
      );
      await expecting(client.patch(JOBS, { namespace, name }, { status }, toStatus));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async function removeByHand({ metadata: { namespace = '', name = '' } }: Job): Promise<void> {
    await client.delete(JOBS, { namespace, name }, { propagationPolicy: 'Background' });
  }

  /** Ends and deletes the pod of a deleted Job. */
  async function clear({ metadata: { namespace = '', name = '' } }: Job): Promise<void> {
    const work = works.get(name);
    if (!work) return;
    works.delete(name);
    waiting.delete(work);
    work.cut = true;
    if (!lingering.some(({ run }) => run === work.run)) for (const command of work.commands) command.kill();
    try {
      await client.delete(PODS, { namespace, name: work.pod.metadata.name ?? '' }, { gracePeriodSeconds: 0 });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  const stopRuns = (): void => {
    for (const work of waiting) {
      waiting.delete(work);
      during(end(work, 1, {}, { reason: 'Cancelled' }));
    }
  };

  return { jobs: seen, complaints, stopRuns };
}
