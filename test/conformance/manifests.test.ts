import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import { CONFIG_MAPS, type ConfigMap, SECRETS, type Secret, secretText } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations, attemptSecretName } from '#api/names.ts';
import { sha256 } from '#base/canonical.ts';
import { manifestFilesIn } from '#protocol/manifests.ts';
import { RUN_SPEC_FILE, runSpecSchema } from '#protocol/run-spec.ts';
import { expectAsPlanned } from '../worlds/as-planned.ts';
import { KUBECONFIG, startOperator, type TestOperator } from '../worlds/operator.ts';
import type { Ending } from '../worlds/scripted-jobs.ts';

/** A user's own manifests, from the ConfigMap to the run spec. What the run does with them is tested with ansibleinit. */
const success: Ending = { kind: 'report', success: true, kubeconfig: KUBECONFIG };
const TEXT = 'apiVersion: v1\nkind: Namespace\nmetadata: {name: a, annotations: {t: "{{ x }}"}}\n';
let script: (job: string) => Ending | Promise<Ending>;
let operator: TestOperator;
let events: string[];
let net = 0;

beforeEach(async () => {
  script = () => success;
  events = [];
  net += 1;
  operator = await startOperator(inject('kubeconfigPath'), (job) => script(job), {
    onEvent: (reason, message) => events.push(`${reason}: ${message}`),
  });
});
afterEach(() => operator.stop());

const key = (name: string) => ({ namespace: operator.namespace, name });
const file = (text = TEXT, configMap = 'addons') => ({ configMap, key: 'a.yaml', sha256: sha256(text) });
const spec = (...manifests: ReturnType<typeof file>[]): KubernetesCluster['spec'] => ({
  cluster: { masterList: [{ ip: `10.252.${net}.1` }], nodeList: [{ ip: `10.252.${net}.2` }] },
  addons: { manifests },
});
const keep = (data: Record<string, string> = { 'a.yaml': TEXT }, name = 'addons') =>
  operator.client.create<ConfigMap>(CONFIG_MAPS, { metadata: key(name), data });
const change = (text: string) =>
  operator.client.patch(CONFIG_MAPS, key('addons'), { data: { 'a.yaml': text } }, { type: 'merge' });
const stall = (cluster: KubernetesCluster | undefined) =>
  findCondition(cluster?.status?.conditions, 'Stalled');
const stalled = (reason: string) => operator.until('demo', (cluster) => stall(cluster)?.reason === reason);
const word = (text: string) =>
  operator.until('demo', (cluster) => cluster?.metadata.annotations?.[annotations.operation] === text);

/** Returns the run spec of a Job that exists. */
async function orderOf(job: string) {
  const where = { namespace: operator.operatorNamespace, name: attemptSecretName(job) };
  const secret = await operator.client.get<Secret>(SECRETS, where);
  return runSpecSchema.parse(JSON.parse(secretText(secret, RUN_SPEC_FILE) ?? ''));
}

describe('spec.addons.manifests', () => {
  it('reach the run of the creation unchanged, and no other run', async () => {
    const orders = new Map<string, Awaited<ReturnType<typeof orderOf>>>();
    script = async (job) => {
      orders.set(job.split('-')[0] ?? '', await orderOf(job));
      return success;
    };
    await keep();
    await operator.apply('demo', spec(file()), 'creating');
    await word('create-finished');
    const created = orders.get('create');
    const [found, ...more] = manifestFilesIn(created?.vars ?? {});
    expect(more).toEqual([]);
    expect(found?.name).toBe('addons/a.yaml');
    expect(gunzipSync(Buffer.from(found?.content ?? '', 'base64')).toString()).toBe(TEXT);
    expect(created?.steps.map(({ name }) => name)).toContain('Apply manifests');
    await expectAsPlanned(operator, 'demo');
    // The cluster is created and scaled up, whatever happens to the ConfigMap.
    await operator.client.delete(CONFIG_MAPS, key('addons'));
    const { cluster, addons } = spec(file());
    const nodeList = [...(cluster.nodeList ?? []), { ip: `10.252.${net}.3` }];
    await operator.apply('demo', { cluster: { ...cluster, nodeList }, addons }, 'scaling-up');
    await word('scale-up-finished');
    expect(manifestFilesIn(orders.get('scale')?.vars ?? {})).toEqual([]);
  });

  it('block the creation while they are missing or differ from their SHA-256', async () => {
    await operator.apply('demo', spec(file()), 'creating');
    const missing = await stalled('ManifestsMissing');
    expect(stall(missing)?.message).toBe('spec.addons.manifests[0]: ConfigMap addons is not there; make it');
    expect(missing?.status?.operation).toBeUndefined();
    await expect.poll(() => events.join()).toContain('ManifestsMissing: spec.addons.manifests[0]');
    await keep({ 'b.yaml': TEXT });
    // A change of the object triggers a check that otherwise only a timer would.
    await operator.apply('demo', spec(file('other')), 'creating');
    await operator.until('demo', (cluster) => /has no key a\.yaml/.test(stall(cluster)?.message ?? ''));
    await change(TEXT);
    await operator.apply('demo', spec(file('another')), 'creating');
    // The controller may have compared the restored file with the previous sum.
    const says = `ConfigMap addons, key a.yaml has SHA-256 ${sha256(TEXT)}, and ${sha256('another')} was asked for`;
    const changed = await operator.until('demo', (one) => stall(one)?.message.includes(says) ?? false);
    expect(stall(changed)?.reason).toBe('ManifestsChanged');
    expect(operator.started).toEqual([]);
    await operator.apply('demo', spec(file()), 'creating');
    await word('create-finished');
  });

  it('are not applied if a user edits them after the creation was accepted', async () => {
    await keep();
    // The first attempt is lost, so the next attempt would read the file again.
    script = async () => {
      await change(`${TEXT}# mine\n`);
      return { kind: 'lost' };
    };
    await operator.apply('demo', spec(file()), 'creating');
    const failed = await word('create-failed');
    expect(failed?.status).toMatchObject({ phase: 'Failed', reason: 'ManifestsChanged' });
    expect(operator.started).toHaveLength(1);
  });

  it('are checked by a dry run, which reports their errors', async () => {
    const rehearse = async (wanted: KubernetesCluster['spec'], id: string) => {
      await operator.apply('demo', wanted);
      const marked = { [annotations.dryRun]: 'All' };
      const patch = { metadata: { annotations: marked } };
      await operator.client.patch(KUBERNETES_CLUSTERS, key('demo'), patch, { type: 'merge' });
      await operator.apply('demo', wanted, 'creating', id);
      const said = await operator.until(
        'demo',
        ({ status } = { metadata: {}, spec: wanted }) =>
          status?.plan?.requestId === id && status.plan.result !== 'Checking',
      );
      return said?.status?.plan;
    };
    expect(await rehearse(spec(file()), '1')).toMatchObject({
      result: 'Refused',
      message: expect.stringContaining('ManifestsMissing: spec.addons.manifests[0]'),
    });
    await keep();
    let files: string[] = [];
    script = async (job) => {
      files = manifestFilesIn((await orderOf(job)).vars).map(({ name }) => name);
      return success;
    };
    const plan = await rehearse(spec(file()), '2');
    expect(plan).toMatchObject({ result: 'Possible', warnings: expect.stringContaining('addons/a.yaml') });
    expect(plan?.steps).toContain('Apply manifests');
    expect(files).toEqual(['addons/a.yaml']);
  });

  it('have a limit in total, plain and compressed', async () => {
    const long = '# comment\n'.repeat(60_000);
    const dense = Array.from({ length: 8_000 }, (_of, index) => sha256(`${index}`)).join('\n');
    await keep({ 'a.yaml': long }, 'long');
    await keep({ 'a.yaml': dense }, 'dense');
    await operator.apply('demo', spec(file(long, 'long')), 'creating');
    expect(stall(await stalled('ManifestsInvalid'))?.message).toContain('longer than 512 KiB');
    await operator.apply('demo', spec(file(dense, 'dense')), 'creating');
    const reported = () =>
      operator.until('demo', (cluster) => /compressed/.test(stall(cluster)?.message ?? ''));
    expect(stall(await reported())?.message).toContain('spec.addons.manifests[0]');
  });
});
