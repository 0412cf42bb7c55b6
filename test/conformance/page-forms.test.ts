import { describe, expect, it } from 'vitest';
import { KUBERNETES_CLUSTERS } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { runningOperation } from '#api/testing/running-operation.ts';
import { keyPair } from '#base/testing/key-pair.ts';
import { showPage } from './page.fixture.ts';

/** The forms of the web page: they check what is typed, show the plan, and ask for exactly that. */
const shown = showPage();
const { login, make, report, violations } = shown;

/** Creates a cluster with a key that alice may use again, as the controller leaves it. */
async function madeByAlice(name: string, body: object): Promise<void> {
  const { world } = shown;
  const path = `/region/default/cluster/${name}?namespace=${world.namespace}`;
  const hosts = { masterList: [{ ip: '10.9.0.60' }], privateSSHKey: keyPair().private };
  const { status } = await world.call(world.tokens.alice, 'POST', path, { ...hosts, ...body });
  expect(status).toBe(200);
  await world.created(name);
}

describe('forms', () => {
  it('check what is typed, show the plan, and create exactly that', async () => {
    await login();
    await shown.page.getByRole('link', { name: 'Create a cluster' }).click();
    await shown.page.getByLabel(/^Name( \*)?$/).fill('from-page');
    const planes = shown.page.getByLabel('Control planes');
    await planes.fill('10.9.0.300');
    await shown.page.getByText(/^10\.9\.0\.300 .*is not an IP address/).waitFor();
    await planes.fill('10.9.0.50');
    await shown.page.getByLabel('Private SSH key').fill(keyPair().private);
    await shown.page.getByRole('region', { name: 'Plan' }).waitFor();
    expect(await violations()).toEqual([]);
    await shown.page.getByRole('button', { name: 'Create the cluster' }).click();
    await shown.page.getByRole('heading', { name: 'from-page' }).waitFor();
    const cluster = await shown.world.cluster('from-page');
    expect(cluster?.metadata.annotations).toMatchObject({
      [annotations.operation]: 'creating',
      [annotations.plan]: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(cluster?.spec.cluster.masterList).toEqual([{ ip: '10.9.0.50' }]);
  });

  it('add a host to the present ones', async () => {
    await shown.world.created('from-page');
    await login();
    await shown.page.getByRole('link', { name: 'from-page' }).click();
    await shown.page.getByRole('button', { name: 'Change' }).click();
    await shown.page.getByRole('menuitem', { name: 'Add hosts' }).click();
    const dialog = shown.page.getByRole('dialog');
    await dialog.getByText('Add a line for each new host.').waitFor();
    expect(await dialog.getByRole('button', { name: 'Add hosts' }).isDisabled()).toBe(true);
    await shown.page.getByLabel('Workers').fill('10.9.0.51 fifty-one');
    await dialog.getByRole('region', { name: 'Plan' }).waitFor();
    await dialog.getByRole('cell', { name: '10.9.0.51' }).waitFor();
    expect(await violations()).toEqual([]);
    await dialog.getByRole('button', { name: 'Add hosts' }).click();
    await dialog.waitFor({ state: 'detached' });
    const cluster = await shown.world.cluster('from-page');
    expect(cluster?.metadata.annotations?.[annotations.operation]).toBe('scaling-up');
    expect(cluster?.spec.cluster.nodeList).toEqual([{ ip: '10.9.0.51', name: 'fifty-one' }]);
  });

  it('confirm a change of the lists that was made without them', async () => {
    await madeByAlice('edited', { nodeList: [{ ip: '10.9.0.71' }, { ip: '10.9.0.72' }] });
    const { world } = shown;
    await world.admin.patch(
      KUBERNETES_CLUSTERS,
      { namespace: world.namespace, name: 'edited' },
      { spec: { cluster: { nodeList: [{ ip: '10.9.0.71' }] } } },
      { type: 'merge' },
    );
    const stalled = {
      type: 'Stalled',
      status: 'True',
      reason: 'NeedsConfirmation',
      message: 'a host leaves',
    };
    const conditions = [{ ...stalled, lastTransitionTime: '2026-11-29T10:00:00Z' }];
    await report('edited', { phase: 'Running', conditions });
    await login();
    await shown.page.getByRole('link', { name: 'edited' }).click();
    await shown.page.getByText('a host leaves').waitFor();
    await shown.page.getByRole('button', { name: 'Change' }).click();
    await shown.page.getByRole('menuitem', { name: 'Remove hosts' }).click();
    const dialog = shown.page.getByRole('dialog');
    await dialog.getByRole('cell', { name: '10.9.0.72' }).waitFor();
    await dialog.getByRole('button', { name: 'Remove hosts' }).click();
    await dialog.waitFor({ state: 'detached' });
    const cluster = await world.cluster('edited');
    expect(cluster?.metadata.annotations?.[annotations.operation]).toBe('scaling-down');
  });

  it('replace a host', async () => {
    await madeByAlice('replaced', { nodeList: [{ ip: '10.9.0.61' }] });
    await login();
    await shown.page.getByRole('link', { name: 'replaced' }).click();
    await shown.page.getByRole('button', { name: 'Change' }).click();
    await shown.page.getByRole('menuitem', { name: 'Replace a host' }).click();
    const dialog = shown.page.getByRole('dialog');
    await dialog.getByLabel('Host that leaves').fill('10.9.0.61');
    await dialog.getByLabel('Host that takes its place').fill('10.9.0.62');
    await dialog.getByRole('region', { name: 'Plan' }).waitFor();
    expect(await violations()).toEqual([]);
    await dialog.getByRole('button', { name: 'Replace a host' }).click();
    await dialog.waitFor({ state: 'detached' });
    const cluster = await shown.world.cluster('replaced');
    expect(cluster?.metadata.annotations?.[annotations.operation]).toBe('replacing');
    expect(cluster?.spec.cluster.nodeList).toEqual([{ ip: '10.9.0.62' }]);
  });

  it('upgrade Kubernetes, only to a version that is offered', async () => {
    await madeByAlice('upgraded', { kubeVersion: 'v1.33.8' });
    await report('upgraded', { phase: 'Running', version: 'v1.33.8' });
    await login();
    await shown.page.getByRole('link', { name: 'upgraded' }).click();
    await shown.page.getByRole('button', { name: 'Change' }).click();
    await shown.page.getByRole('menuitem', { name: 'Upgrade Kubernetes' }).click();
    const dialog = shown.page.getByRole('dialog');
    const version = dialog.getByLabel('Kubernetes version');
    await version.fill('v1.40.0');
    await dialog.getByText(/v1\.34\.4/).waitFor();
    await version.fill('v1.34.4');
    await dialog.getByRole('region', { name: 'Plan' }).waitFor();
    expect(await violations()).toEqual([]);
    await dialog.getByRole('button', { name: 'Upgrade Kubernetes' }).click();
    await dialog.waitFor({ state: 'detached' });
    const cluster = await shown.world.cluster('upgraded');
    expect(cluster?.metadata.annotations?.[annotations.operation]).toBe('updating');
    expect(cluster?.spec.cluster.kubeVersion).toBe('v1.34.4');
  });

  it('change settings, beginning with the present ones', async () => {
    await madeByAlice('settled', { kubeadm: { kubelet: { maxPods: 50 } } });
    await login();
    await shown.page.getByRole('link', { name: 'settled' }).click();
    await shown.page.getByRole('button', { name: 'Change' }).click();
    await shown.page.getByRole('menuitem', { name: 'Change settings' }).click();
    const dialog = shown.page.getByRole('dialog');
    const settings = dialog.getByLabel('Settings of components');
    expect(JSON.parse(await settings.inputValue())).toEqual({ kubelet: { maxPods: 50 } });
    await settings.fill('{"kubelets": {"maxPods": 60}}');
    await dialog.getByText(/kubelets/).waitFor();
    await settings.fill('{"kubelet": {"maxPods": 60}}');
    await dialog.getByRole('region', { name: 'Plan' }).waitFor();
    expect(await violations()).toEqual([]);
    await dialog.getByRole('button', { name: 'Change settings' }).click();
    await dialog.waitFor({ state: 'detached' });
    const cluster = await shown.world.cluster('settled');
    expect(cluster?.metadata.annotations?.[annotations.operation]).toBe('reconfiguring');
    expect(cluster?.spec.cluster.kubeadm).toEqual({ kubelet: { maxPods: 60 } });
  });

  it('refuse a request after another change of what they replace', async () => {
    await madeByAlice('contested', { kubeadm: { kubelet: { maxPods: 50 } } });
    await login();
    await shown.page.getByRole('link', { name: 'contested' }).click();
    await shown.page.getByRole('button', { name: 'Change' }).click();
    await shown.page.getByRole('menuitem', { name: 'Change settings' }).click();
    const dialog = shown.page.getByRole('dialog');
    await dialog.getByLabel('Settings of components').fill('{"kubelet": {"maxPods": 60}}');
    await dialog.getByRole('region', { name: 'Plan' }).waitFor();
    const { world } = shown;
    await world.admin.patch(
      KUBERNETES_CLUSTERS,
      { namespace: world.namespace, name: 'contested' },
      { spec: { cluster: { kubeadm: { kubelet: { maxPods: 70 } } } } },
      { type: 'merge' },
    );
    await dialog.getByText('The cluster has changed since this form opened').waitFor();
    expect(await dialog.getByRole('button', { name: 'Change settings' }).isDisabled()).toBe(true);
  });

  it('restore the newest snapshot, only if the loss is confirmed', async () => {
    await madeByAlice('restored', {});
    const [name, createdAt] = ['20261129t020000z-7', '2026-11-29T02:00:00.000Z'];
    const stored = [{ name, createdAt, size: 1 }];
    await report('restored', { phase: 'Running', etcdSnapshots: { stored } });
    await login();
    await shown.page.getByRole('link', { name: 'restored' }).click();
    await shown.page.getByRole('button', { name: 'Change' }).click();
    await shown.page.getByRole('menuitem', { name: 'Restore a snapshot' }).click();
    const dialog = shown.page.getByRole('dialog');
    expect(await dialog.getByLabel('Snapshot', { exact: true }).inputValue()).toBe(name);
    await dialog.getByText(`confirm that with ${createdAt}`).waitFor();
    await dialog.getByLabel('Time since which changes may be lost').fill(createdAt);
    await dialog.getByRole('region', { name: 'Plan' }).waitFor();
    expect(await violations()).toEqual([]);
    // A scheduled snapshot meanwhile is an operation, after which the former plan is refused.
    const newer = { name: '20261129t030000z-8', createdAt: '2026-11-29T03:00:00.000Z', size: 1 };
    const operation = runningOperation({ name: 'snapshot', sequence: 8, result: 'finished' });
    await report('restored', { operation, etcdSnapshots: { stored: [newer, ...stored] } });
    await shown.page.waitForResponse((answer) => answer.url().includes('dryRun=All'));
    const button = dialog.getByRole('button', { name: 'Restore a snapshot' });
    expect(await button.isDisabled()).toBe(true);
    await dialog.getByLabel(/Type restored to confirm/).fill('restored');
    await button.click();
    await dialog.waitFor({ state: 'detached' });
    expect((await shown.world.cluster('restored'))?.metadata.annotations).toMatchObject({
      [annotations.operation]: 'restoring',
      [annotations.snapshot]: name,
    });
  });

  it('delete only a cluster whose name is typed', async () => {
    await make('doomed');
    await login();
    await shown.page.getByRole('link', { name: 'doomed' }).click();
    await shown.page.getByRole('button', { name: 'Change' }).click();
    await shown.page.getByRole('menuitem', { name: 'Delete' }).click();
    const button = shown.page.getByRole('dialog').getByRole('button', { name: 'Delete the cluster' });
    await shown.page.getByRole('dialog').getByRole('region', { name: 'Plan' }).waitFor();
    expect(await button.isDisabled()).toBe(true);
    await shown.page.getByLabel(/Type doomed to confirm/).fill('doomed');
    await button.click();
    await expect.poll(() => shown.world.cluster('doomed')).toBeUndefined();
    await shown.page.getByText('The cluster is deleted').waitFor();
  });
});
