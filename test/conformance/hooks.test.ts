import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import {
  CONFIG_MAPS,
  type ConfigMap,
  JOBS,
  type Job,
  PODS,
  type Pod,
  SECRETS,
  type Secret,
  secretText,
} from '#api/core.ts';
import { HOSTS, type HostRecord } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations, attemptSecretName } from '#api/names.ts';
import { sha256 } from '#base/canonical.ts';
import { HOOK_FILE } from '#protocol/hook.ts';
import { KUBECONFIG, startOperator, type TestOperator } from '../worlds/operator.ts';
import type { Ending } from '../worlds/scripted-jobs.ts';

/** Users' own playbooks around operations. What their pods do is tested with ansibleinit. */
const success: Ending = { kind: 'report', success: true, kubeconfig: KUBECONFIG };
const done: Ending = { kind: 'exit', code: 0 };
const failed: Ending = {
  kind: 'exit',
  code: 1,
  reason: 'Other',
  message: 'ansible-playbook ended with code 2: no\u0007 disk',
};
const isHook = (job: string) => job.startsWith('hook-');
const TEXT = '- hosts: all\n  tasks: [{raw: "true # {{ x }}"}]\n';
/** Timeout for steps that follow from events, for a busy machine. */
const LATE = { timeout: 20_000 };
let script: (job: string) => Ending | Promise<Ending>;
let operator: TestOperator;
let net = 0;

async function begin(allowHooks = true) {
  operator = await startOperator(inject('kubeconfigPath'), (job) => script(job), { allowHooks });
  await operator.client.create<ConfigMap>(CONFIG_MAPS, { metadata: key('hooks'), data: { 'a.yaml': TEXT } });
}
beforeEach(() => {
  script = (job) => (isHook(job) ? done : success);
  net += 1;
});
afterEach(() => operator.stop());

const key = (name: string) => ({ namespace: operator.namespace, name });
const file = (text = TEXT) => ({ configMap: 'hooks', key: 'a.yaml', sha256: sha256(text) });
const spec = (hooks: KubernetesCluster['spec']['hooks']): KubernetesCluster['spec'] => ({
  cluster: { masterList: [{ ip: `10.251.${net}.1` }], nodeList: [{ ip: `10.251.${net}.2` }] },
  hooks,
});
const word = (text: string) =>
  operator.until('demo', (cluster) => cluster?.metadata.annotations?.[annotations.operation] === text);
const step = (text: string) => operator.until('demo', (cluster) => cluster?.status?.operation?.step === text);
const change = (text: string) =>
  operator.client.patch(CONFIG_MAPS, key('hooks'), { data: { 'a.yaml': text } }, { type: 'merge' });
const annotate = (annotationsOf: Record<string, string>) =>
  operator.client.patch(
    KUBERNETES_CLUSTERS,
    key('demo'),
    { metadata: { annotations: annotationsOf } },
    { type: 'merge' },
  );
const stalledAs = async (reason: string) => {
  const stall = (cluster: KubernetesCluster | undefined) =>
    findCondition(cluster?.status?.conditions, 'Stalled');
  const cluster = await operator.until('demo', (now) => stall(now)?.reason === reason);
  return stall(cluster)?.message;
};
/** Returns the kinds of runs that have started, in order. */
const began = () => operator.started.map((job) => job.split('-')[0]);
const hookJobs = async () => {
  const { items } = await operator.client.list<Job>(JOBS, { namespace: operator.operatorNamespace });
  return items.filter(({ metadata }) => isHook(metadata.name ?? ''));
};
const hosts = async () => {
  const { items } = await operator.client.list<HostRecord>(HOSTS, { namespace: operator.operatorNamespace });
  return items.map(({ status }) => [status?.state ?? 'Held', status?.touched ?? false]);
};

describe('spec.hooks', () => {
  it('run one after the other before and after the run, once each, without a token', async () => {
    await begin();
    const names = ['preCreate[0]', 'preCreate[1]', 'postCreate[0]'];
    const seen: { text: string | undefined; working: Pod[] }[] = [];
    script = async (job) => {
      if (!isHook(job)) return success;
      const namespace = operator.operatorNamespace;
      const { items } = await operator.client.list<Pod>(PODS, { namespace });
      const working = items.filter(({ status }) => !/^(Succeeded|Failed)$/.test(status?.phase ?? ''));
      const secret = await operator.client.get<Secret>(SECRETS, { namespace, name: attemptSecretName(job) });
      seen.push({ text: secretText(secret, HOOK_FILE), working });
      await step(`Hook ${names[seen.length - 1]}`);
      return done;
    };
    await operator.apply('demo', spec({ preCreate: [file(), file()], postCreate: [file()] }), 'creating');
    const cluster = await word('create-finished');
    expect(began()).toEqual(['hook', 'hook', 'create', 'hook']);
    expect(new Set(operator.started).size).toBe(4);
    for (const { text, working } of seen) {
      expect(text).toBe(TEXT);
      // No other pod works at the same time.
      expect(working).toHaveLength(1);
      expect(JSON.stringify(working)).not.toMatch(/serviceAccountToken|SERVER_URL/);
    }
    expect(cluster?.status).toMatchObject({
      phase: 'Running',
      operation: { hooksDone: 3, result: 'finished' },
    });
    await expect.poll(hookJobs, LATE).toEqual([]);
  });

  it('fail the operation by name before any host is touched', async () => {
    await begin();
    script = (job) => (isHook(job) ? failed : success);
    await operator.apply('demo', spec({ preCreate: [file()], postCreate: [file()] }), 'creating');
    const cluster = await word('create-failed');
    expect(cluster?.status).toMatchObject({
      phase: 'Failed',
      reason: 'HookFailed',
      message:
        'spec.hooks.preCreate[0] (ConfigMap hooks, key a.yaml): ansible-playbook ended with code 2: no disk',
    });
    expect(began()).toEqual(['hook']);
    expect(await hosts()).toEqual([
      ['Held', false],
      ['Held', false],
    ]);
    await expect.poll(hookJobs, LATE).toEqual([]);
  });

  it('fail the operation after its run is recorded, and run again with the next request', async () => {
    await begin();
    script = (job) => (isHook(job) ? failed : success);
    await operator.apply('demo', spec({ postCreate: [file()] }), 'creating', 'a');
    const cluster = await word('create-failed');
    expect(cluster?.status?.message).toContain('spec.hooks.postCreate[0]');
    expect(began()).toEqual(['create', 'hook']);
    expect(await hosts()).toEqual([
      ['Joined', true],
      ['Joined', true],
    ]);
    script = (job) => (isHook(job) ? done : success);
    await operator.apply('demo', spec({ postCreate: [file()] }), 'creating', 'b');
    await word('create-finished');
    expect(began()).toEqual(['create', 'hook', 'create', 'hook']);
  });

  it('run once though the operator is killed while they run and after they end', async () => {
    await begin();
    const ends = [Promise.withResolvers<Ending>(), Promise.withResolvers<Ending>()];
    let hooks = 0;
    script = (job) => (isHook(job) ? (ends[hooks++]?.promise ?? done) : success);
    await operator.apply('demo', spec({ preCreate: [file()], postCreate: [file()] }), 'creating');
    for (const [index, name] of ['preCreate', 'postCreate'].entries()) {
      await step(`Hook ${name}[0]`);
      await operator.restart();
      await operator.stopController();
      ends[index]?.resolve(done);
      // The hook ends while no controller is running.
      const ended = async () => (await hookJobs()).at(-1)?.status?.succeeded;
      await expect.poll(ended, LATE).toBe(1);
      await operator.restart();
    }
    await word('create-finished');
    expect(began()).toEqual(['hook', 'create', 'hook']);
  });

  it('stop with a cancellation: their hosts count as touched, and no run starts', async () => {
    await begin();
    script = () => ({ kind: 'hang' });
    await operator.apply('demo', spec({ preCreate: [file()] }), 'creating');
    const running = await step('Hook preCreate[0]');
    await annotate({ [annotations.cancel]: running?.status?.operation?.id ?? '' });
    const cluster = await word('create-cancelled');
    expect(cluster?.status?.message).toContain('spec.hooks.preCreate[0]');
    expect(await hookJobs()).toEqual([]);
    expect(began()).toEqual(['hook']);
    expect(await hosts()).toEqual([
      ['Held', true],
      ['Held', true],
    ]);
  });

  it('stop with a deletion, before hosts are reset', async () => {
    await begin();
    let left: Job[] = [];
    script = async (job) => {
      if (isHook(job)) return { kind: 'hang' };
      left = await hookJobs();
      return success;
    };
    await operator.apply('demo', spec({ preCreate: [file()] }), 'creating');
    await step('Hook preCreate[0]');
    await operator.client.delete(KUBERNETES_CLUSTERS, key('demo'));
    await operator.until('demo', (cluster) => cluster === undefined);
    expect(began()).toEqual(['hook', 'delete']);
    expect(left).toEqual([]);
    expect(await hosts()).toEqual([]);
    const secrets = async () =>
      (await operator.client.list(SECRETS, { namespace: operator.operatorNamespace })).items;
    await expect.poll(secrets, LATE).toEqual([]);
  });

  it('fail the operation if a user deletes their Job, and do not run again', async () => {
    await begin();
    script = () => ({ kind: 'hang' });
    await operator.apply('demo', spec({ preCreate: [file()] }), 'creating');
    await step('Hook preCreate[0]');
    const [job] = await hookJobs();
    const where = { namespace: operator.operatorNamespace, name: job?.metadata.name ?? '' };
    await operator.stopController();
    await operator.client.delete(JOBS, where, { propagationPolicy: 'Background' });
    await operator.restart();
    const cluster = await word('create-failed');
    expect(cluster?.status).toMatchObject({
      reason: 'HookLost',
      message: expect.stringContaining('its Job is gone'),
    });
    expect(began()).toEqual(['hook']);
  });

  it('do not run if their text differs from the SHA-256 in the spec', async () => {
    await begin();
    await operator.apply('demo', spec({ postCreate: [file('other')] }), 'creating');
    expect(await stalledAs('HooksChanged')).toContain(`has SHA-256 ${sha256(TEXT)}`);
    expect(operator.started).toEqual([]);
    script = async (job) => {
      if (!isHook(job)) await change(`${TEXT}# mine\n`);
      return success;
    };
    await operator.apply('demo', spec({ postCreate: [file()] }), 'creating');
    const cluster = await word('create-failed');
    expect(cluster?.status?.reason).toBe('HooksChanged');
    expect(began()).toEqual(['create']);
  });

  it('are refused if the operator runs without --allow-hooks, and nothing starts', async () => {
    await begin(false);
    await operator.apply('demo', spec({ preCreate: [file()] }), 'creating');
    const cluster = await word('create-failed');
    expect(cluster?.status).toMatchObject({
      reason: 'InvalidSpec',
      message: expect.stringMatching(/^spec\.hooks is off in this installation.*--allow-hooks/),
    });
    expect(operator.started).toEqual([]);
  });

  it('are listed by a dry run, and do not run', async () => {
    await begin();
    const wanted = spec({ preCreate: [file()], postCreate: [file()] });
    await operator.apply('demo', wanted);
    await annotate({ [annotations.dryRun]: 'All' });
    await operator.apply('demo', wanted, 'creating', '1');
    const cluster = await operator.until('demo', (now) => now?.status?.plan?.result === 'Possible');
    const { steps = [], warnings } = cluster?.status?.plan ?? {};
    expect([steps[0], steps.at(-1)]).toEqual(['Hook preCreate[0]', 'Hook postCreate[0]']);
    expect(warnings).toContain('spec.hooks.preCreate[0] runs key a.yaml of ConfigMap hooks as root');
    expect(began()).toEqual(['precheck']);
  });
});
