import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import { CONFIG_MAPS, SECRETS, secretData } from '#api/core.ts';
import { HOSTS } from '#api/host-record.ts';
import { kubeconfigSecretName } from '#api/names.ts';
import { docker } from '#lab/hosts/docker.ts';
import { readyNodesOf, untilCluster } from '#lab/meta/cluster.ts';
import { faults, seen } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byKubectl } from './by-kubectl.ts';
import { byNumber } from './by-number.ts';
import { openLane } from './lanes.ts';
import { tracesOn } from './traces.ts';

/** Changes by users while an operation runs, or between two. */
const NAME = 'crowded';
const KEYS = 'crowded-keys';
const OPERATION_MS = 8 * 60_000;

let meta: Meta;
let traces: (index: number) => Promise<string[]>;
let shell: ReturnType<typeof byKubectl>;

beforeAll(async () => {
  meta = await openLane();
  traces = await tracesOn(meta);
  shell = byKubectl(meta, NAME);
  await shell.giveKeys(KEYS);
});
afterAll(() => meta.close());

const { host, entries, nodes } = byNumber(() => meta);
const apply = (workers: number[], word?: string, requestId?: string) =>
  shell.apply({
    masters: entries(0),
    workers: entries(...workers),
    secret: KEYS,
    ...(word === undefined ? {} : { word }),
    ...(requestId === undefined ? {} : { requestId }),
  });
const atStep = (step: string) =>
  untilCluster(meta, NAME, (one) => one?.status?.operation?.step === step, OPERATION_MS);

/** Replaces the hosts' authorized keys. */
async function authorize(publicKey: string): Promise<void> {
  for (const { name } of meta.hosts)
    await docker([
      ...['exec', name, 'sh', '-ec'],
      `mkdir -p /root/kept; [ -e /root/kept/authorized_keys ] || cp /root/.ssh/authorized_keys /root/kept/
${publicKey === '' ? 'mv /root/kept/authorized_keys /root/.ssh/; rmdir /root/kept' : `echo '${publicKey}' > /root/.ssh/authorized_keys`}`,
    ]);
}

describe('a cluster that users change during operations', () => {
  it('is deleted during its creation, and leaves no trace on its hosts', async () => {
    await apply([1], 'creating', 'one');
    await seen('containerd on the new host', () => faults.runs(host(0), 'containerd'));
    await shell.run(['delete', 'ecs', NAME, '--wait=false']);
    await shell.untilGone(OPERATION_MS);
    for (const index of [0, 1]) expect(await traces(index), `host ${index}`).toEqual([]);
  });

  it('is created again under the same name', async () => {
    await apply([1], 'creating', 'two');
    await shell.waitUpToDate();
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1));
  });

  it('keeps a host that another cluster names, which gets an error with the address', async () => {
    const rival = byKubectl(meta, 'rival');
    await rival.apply({ masters: entries(4), workers: entries(1), word: 'creating', secret: KEYS });
    const refused = await rival.untilStalled('HostConflict', 60_000).catch(() => rival.get());
    expect(JSON.stringify(refused?.status?.conditions)).toContain(host(1).ip);
    await rival.run(['delete', 'ecs', 'rival', '--wait=false']);
    await rival.untilGone(60_000);
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1));
    expect(await traces(4)).toEqual([]);
  });

  it('completes an operation though its record, kubeconfig and Host record are deleted', async () => {
    await apply([1, 2]);
    const { id = '', name = '' } = (await atStep('Prepare hosts'))?.status?.operation ?? {};
    const kubeconfig = { namespace: 'default', name: kubeconfigSecretName(NAME) };
    await meta.client.delete(CONFIG_MAPS, { namespace: 'default', name: `kube-${name}-${id}` });
    await meta.client.delete(SECRETS, kubeconfig);
    const record = (await shell.records())[host(2).ip];
    await meta.client.delete(HOSTS, {
      namespace: 'matryoshka-system',
      name: record?.metadata.name ?? '',
    });
    await shell.waitUpToDate();
    await seen('its kubeconfig', async () => (await meta.client.find(SECRETS, kubeconfig)) !== undefined);
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, 2));
    expect((await shell.records())[host(2).ip]?.status?.state).toBe('Joined');
  });

  it('keeps the old SSH key during a run, and uses the new key in the next', async () => {
    await docker([
      'exec',
      host(0).name,
      'sh',
      '-ec',
      'rm -f /root/new*; ssh-keygen -qt ed25519 -N "" -f /root/new',
    ]);
    const read = async (file: string) => docker(['exec', host(0).name, 'cat', file]);
    const [key, publicKey] = [await read('/root/new'), (await read('/root/new.pub')).trim()];
    await docker(['exec', host(0).name, 'rm', '/root/new', '/root/new.pub']);
    const data = secretData({ username: 'root', 'ssh-privatekey': key });
    try {
      await apply([1, 2, 3]);
      await atStep('Prepare hosts');
      const exchanged = { metadata: { namespace: 'default', name: KEYS }, data };
      await meta.client.apply(SECRETS, exchanged, { fieldManager: 'e2e', force: true });
      await shell.waitUpToDate();
      await authorize(publicKey);
      await apply([1, 2], 'scaling-down', 'three');
      await shell.waitUpToDate();
      expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, 2));
    } finally {
      await authorize('');
      await shell.giveKeys(KEYS);
    }
    expect(await traces(3)).toEqual([]);
  });

  it('refuses a host with a changed host key until the old key is back', async () => {
    await faults.changeHostKeys(host(2));
    try {
      await apply([1], 'scaling-down', 'four');
      const failed = await shell.untilStalled('OperationFailed', 90_000);
      const stalled = findCondition(failed?.status?.conditions, 'Stalled');
      expect(`${failed?.status?.reason} ${stalled?.message}`).toMatch(
        new RegExp(`HostKeyChanged.*${host(2).ip}|${host(2).ip}.*another host key`, 's'),
      );
    } finally {
      await faults.restoreHostKeys(host(2));
    }
    await apply([1], 'scaling-down', 'five');
    await shell.waitUpToDate();
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1));
  });

  it('is deleted, and leaves no trace on its hosts', async () => {
    await shell.run(['delete', 'ecs', NAME, '--wait=false']);
    await shell.untilGone(OPERATION_MS);
    for (const index of [0, 1, 2, 3, 4]) expect(await traces(index), `host ${index}`).toEqual([]);
  });
});
