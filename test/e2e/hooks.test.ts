import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CONFIG_MAPS, type ConfigMap } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { isResultValue } from '#api/operation-values.ts';
import { sha256 } from '#base/canonical.ts';
import { readyNodesOf, untilCluster, untilDone } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byKubectl } from './by-kubectl.ts';
import { byNumber } from './by-number.ts';
import { openLane } from './lanes.ts';
import { QUICK_KEYS } from './quick-keys.ts';
import { tracesOn } from './traces.ts';

const NAME = 'hooked';
const KEYS = `${NAME}-keys`;
const KEY = { namespace: 'default', name: NAME };
const OPERATION_MS = 10 * 60_000;
const FILE = '/var/tmp/matryoshka-hooks';

/**
 * Returns a playbook that needs no Python on hosts: it writes a line into a file of each, with whether kubeadm has run
 * there.
 */
const noting = (hosts: string, line: string, more = 'true') => `
- hosts: ${hosts}
  gather_facts: false
  tasks:
    - ansible.builtin.raw: echo "${line} {{ node_name }} $(test -e /etc/kubernetes && echo made || echo bare)" >> ${FILE}
    - ansible.builtin.raw: ${JSON.stringify(more)}
`;
const TEXTS = {
  'before.yml': noting('all', 'before'),
  'masters.yml': noting('kube-master', 'masters'),
  'after.yml': noting('all', 'after'),
  'failing.yml': noting('all', 'failing', 'echo no luck >&2; exit 7'),
};
const hook = (key: keyof typeof TEXTS) => ({ configMap: NAME, key, sha256: sha256(TEXTS[key]) });

let meta: Meta;
let shell: ReturnType<typeof byKubectl>;
let traces: (index: number) => Promise<string[]>;
const { host, entries, nodes, sh } = byNumber(() => meta);

const lines = async (index: number) =>
  (await sh(index, `cat ${FILE} 2>/dev/null || true`)).trim().split('\n');

const asking = (word: string, hooks: object, workers: number[]) => ({
  metadata: {
    ...KEY,
    annotations: { [annotations.operation]: word, [annotations.requestId]: randomUUID() },
  },
  spec: {
    cluster: {
      masterList: entries(0),
      nodeList: entries(...workers),
      kubeadm: QUICK_KEYS,
      credentialsSecret: KEYS,
    },
    hooks,
  },
});

/** Writes hooks and hosts with a new request id, because a change of hooks alone is no request. */
async function ask(word: string, hooks: object, workers: number[]): Promise<void> {
  const wanted = asking(word, hooks, workers);
  if (await meta.client.find(KUBERNETES_CLUSTERS, KEY))
    await meta.client.patch<KubernetesCluster>(KUBERNETES_CLUSTERS, KEY, wanted, { type: 'merge' });
  else await meta.client.create(KUBERNETES_CLUSTERS, wanted);
}
const ended = () =>
  untilCluster(
    meta,
    NAME,
    (one) => isResultValue(one?.metadata.annotations?.[annotations.operation]),
    OPERATION_MS,
  );

describe('a cluster with hooks', () => {
  beforeAll(async () => {
    meta = await openLane();
    shell = byKubectl(meta, NAME);
    traces = await tracesOn(meta);
    await shell.giveKeys(KEYS);
    const texts: ConfigMap = { metadata: KEY, data: TEXTS };
    await meta.client.apply(CONFIG_MAPS, texts, { fieldManager: 'e2e', force: true });
    for (const index of [0, 1, 2]) await sh(index, `rm -f ${FILE}`);
  });
  afterAll(async () => {
    await meta.client.delete(CONFIG_MAPS, KEY);
    await meta.close();
  });
  it('is not created if a hook before it fails; only the hook ran on hosts', async () => {
    await ask('creating', { preCreate: [hook('failing.yml')] }, [1]);
    const cluster = await ended();
    expect(cluster?.status).toMatchObject({ phase: 'Failed', reason: 'HookFailed' });
    expect(cluster?.status?.message).toContain(
      `spec.hooks.preCreate[0] (ConfigMap ${NAME}, key failing.yml)`,
    );
    expect(cluster?.status?.message).toContain('no luck');
    for (const index of [0, 1]) {
      expect(await lines(index)).toEqual([`failing ${nodes(index)[0]} bare`]);
      await sh(index, `rm -f ${FILE}`);
      expect(await traces(index), host(index).name).toEqual([]);
    }
  });

  it('is created between its hooks, which run in order on the hosts that they name', async () => {
    const hooks = { preCreate: [hook('before.yml'), hook('masters.yml')], postCreate: [hook('after.yml')] };
    await ask('creating', hooks, [1]);
    await untilDone(meta, NAME, OPERATION_MS);
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1));
    const [master, worker] = nodes(0, 1);
    expect(await lines(0)).toEqual([
      `before ${master} bare`,
      `masters ${master} bare`,
      `after ${master} made`,
    ]);
    expect(await lines(1)).toEqual([`before ${worker} bare`, `after ${worker} made`]);
  });

  it('does not scale up if a hook fails, and does without that hook', async () => {
    await ask('scaling-up', { preScaleUp: [hook('failing.yml')] }, [1, 2]);
    expect((await ended())?.status).toMatchObject({ phase: 'Failed', reason: 'HookFailed' });
    await sh(2, `rm -f ${FILE}`);
    expect(await traces(2), host(2).name).toEqual([]);
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1));
    await ask('scaling-up', { preScaleUp: null }, [1, 2]);
    await untilDone(meta, NAME, OPERATION_MS);
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, 2));
  });

  it('is deleted without hooks, and leaves no trace on its hosts', async () => {
    await shell.run(['delete', 'ecs', NAME, '--wait=false']);
    await shell.untilGone(OPERATION_MS);
    for (const index of [0, 1, 2]) {
      await sh(index, `rm -f ${FILE}`);
      expect(await traces(index), host(index).name).toEqual([]);
    }
  });
});
