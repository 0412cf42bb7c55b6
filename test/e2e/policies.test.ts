import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nodeNameOf } from '#api/host.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { docker } from '#lab/hosts/docker.ts';
import { clientOf, kubeconfigOf, readyNodesOf } from '#lab/meta/cluster.ts';
import { seen } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import type { Client } from '#runtime/client/client.ts';
import { byKubectl } from './by-kubectl.ts';
import { byNumber } from './by-number.ts';
import { openLane } from './lanes.ts';
import { answers, isReady, type TalkingPod, talkingPod } from './pods-that-talk.ts';
import { tracesOn } from './traces.ts';

const NAME = 'policies';
const SECONDS = 480;
const POLICIES: Resource = {
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'NetworkPolicy',
  plural: 'networkpolicies',
  namespaced: true,
};

let meta: Meta;
let person: ReturnType<typeof byKubectl>;
let traces: (index: number) => Promise<string[]>;
let client: Client;
let web: TalkingPod;
/** Clients with one label: on the node of `web`, on another node, and in a namespace that no policy allows. */
let near: TalkingPod;
let far: TalkingPod;
let stranger: TalkingPod;

beforeAll(async () => {
  meta = await openLane();
  person = byKubectl(meta, NAME);
  traces = await tracesOn(meta);
  await person.giveKeys();
});
afterAll(async () => {
  await client?.close();
  await meta.close();
});

const { entries } = byNumber(() => meta);
function nodeAt(index: number) {
  const host = meta.hosts[index];
  if (!host) throw new Error(`there is no host ${index}`);
  return { host, nodeName: nodeNameOf({ ip: host.ip }) };
}
const sh = (index: number, script: string) => docker(['exec', nodeAt(index).host.name, 'bash', '-c', script]);

const sent = (workers: number[], word: string, more: { network?: string }) =>
  person.apply({ masters: entries(0), workers: entries(...workers), word, requestId: word, ...more });

const policy = (namespace: string, name: string, spec: unknown) => {
  const object: KubeObject & { spec: unknown } = { metadata: { namespace, name }, spec };
  return client.apply(POLICIES, object, { fieldManager: 'e2e', force: true });
};
const without = (namespace: string, name: string) => client.delete(POLICIES, { namespace, name });

/** Returns which of the three clients `web` answers. */
async function answered(): Promise<string[]> {
  const asked = [near, far, stranger];
  const got = await Promise.all(asked.map((one) => answers(one, web)));
  return asked.filter((_one, index) => got[index]).map(({ namespace, name }) => `${namespace}/${name}`);
}
const untilAnswered = (who: string[]) =>
  seen(`just [${who}] to be answered`, async () => (await answered()).join() === who.join());

/** Returns chains and address sets of kube-router on a host. */
const rulesOn = async (index: number): Promise<string[]> => {
  const listed = await sh(index, 'nft list ruleset; /usr/libexec/lab/ipset list -n');
  return listed.match(/KUBE-(ROUTER|POD-FW|NWPLCY|SRC|DST)-\S+/g) ?? [];
};

const ALL = ['front/near', 'front/far', 'other/stranger'];
const allow = {
  podSelector: { matchLabels: { app: 'web' } },
  policyTypes: ['Ingress'],
  ingress: [
    {
      from: [
        {
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'front' } },
          podSelector: { matchLabels: { role: 'client' } },
        },
      ],
      ports: [{ port: 8080 }],
    },
  ],
};

describe('a cluster whose network enforces policies', () => {
  it('is created', async () => {
    await sent([1, 2], 'creating', { network: 'flannel-policies' });
    await person.waitUpToDate(SECONDS);
    expect(await readyNodesOf(meta, NAME)).toEqual(entries(0, 1, 2).map(nodeNameOf).sort());
    client = await clientOf(await kubeconfigOf(meta, NAME));
  });

  it('lets pods talk without a policy, on one node and across nodes', async () => {
    const role = { role: 'client' };
    // In sequence, because two of them share a namespace, and both would create it.
    web = await talkingPod(client, { namespace: 'back', name: 'web', labels: { app: 'web' } }, nodeAt(1));
    near = await talkingPod(client, { namespace: 'front', name: 'near', labels: role }, nodeAt(1));
    far = await talkingPod(client, { namespace: 'front', name: 'far', labels: role }, nodeAt(2));
    stranger = await talkingPod(client, { namespace: 'other', name: 'stranger', labels: role }, nodeAt(1));
    await untilAnswered(ALL);
  });

  it('denies all pods by a policy, but not the kubelet', async () => {
    await policy('back', 'deny', { podSelector: {}, policyTypes: ['Ingress'] });
    await untilAnswered([]);
    expect(await isReady(client, web)).toBe(true);
    // The policy does not deny connections from the pod itself.
    expect(await answers(web, far)).toBe(true);
  });

  it('allows pods by namespace and label, at the port of the policy', async () => {
    await policy('back', 'allow', allow);
    await untilAnswered(['front/near', 'front/far']);
    expect(await answers(far, web, 'other')).toBe(false);
    expect(await answers(near, web, 'other')).toBe(false);
  });

  it('enforces egress policies', async () => {
    await policy('front', 'quiet', { podSelector: {}, policyTypes: ['Egress'] });
    await untilAnswered([]);
    await without('front', 'quiet');
    await untilAnswered(['front/near', 'front/far']);
  });

  it('applies ingress and egress separately, between pods of one node too', async () => {
    const beside = { namespace: 'front', name: 'beside', labels: { role: 'client' } };
    const other = await talkingPod(client, beside, nodeAt(1));
    await seen('its neighbour to be answered', () => answers(near, other));
    await policy('front', 'in-only', {
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [{ podSelector: {} }] }],
    });
    await seen('its neighbour to be cut off', async () => !(await answers(near, other)));
    await without('front', 'in-only');
    await seen('its neighbour to be answered again', () => answers(near, other));
  });

  it('allows no traffic to a port name that no pod has', async () => {
    const [rule] = allow.ingress;
    await policy('back', 'allow', { ...allow, ingress: [{ ...rule, ports: [{ port: 'of-nobody' }] }] });
    await untilAnswered([]);
    await policy('back', 'allow', allow);
    await untilAnswered(['front/near', 'front/far']);
  });

  it('distinguishes policies whose namespace and name join to the same text', async () => {
    await talkingPod(client, { namespace: 'bac', name: 'open', labels: {} }, nodeAt(1));
    await policy('bac', 'kdeny', { podSelector: {}, policyTypes: ['Ingress'], ingress: [{}] });
    // With the bug, chance decides at each policy change which of the two policies applies.
    for (let time = 0; time < 5; time++) {
      await policy('back', 'again', { podSelector: { matchLabels: { time: `t${time}` } }, policyTypes: [] });
      await untilAnswered(['front/near', 'front/far']);
    }
    await without('back', 'again');
    await without('bac', 'kdeny');
  });

  it('works with names of the maximum length', async () => {
    // The kubelet's log folder contains the name too, and a folder name has at most 255 characters.
    const name = 'p'.repeat(200);
    await talkingPod(client, { namespace: 'front', name, labels: { role: 'client' } }, nodeAt(1));
    await policy('front', 'n'.repeat(253), { podSelector: {}, policyTypes: ['Egress'] });
    await untilAnswered([]);
    await without('front', 'n'.repeat(253));
    await untilAnswered(['front/near', 'front/far']);
  });

  it('opens no port of kube-router on hosts', async () => {
    for (const index of [0, 1, 2]) expect(await sh(index, 'ss -Hltnp | grep kube-router || true')).toBe('');
  });

  it('enforces policies on a node that joins later', async () => {
    await sent([1, 2, 3], 'scaling-up', {});
    await person.waitUpToDate(SECONDS);
    const late = await talkingPod(
      client,
      { namespace: 'front', name: 'late', labels: { role: 'client' } },
      nodeAt(3),
    );
    await seen('the pod on the new node to be answered', () => answers(late, web));
    await policy('front', 'quiet', { podSelector: {}, policyTypes: ['Egress'] });
    await seen('the pod on the new node to be cut off', async () => !(await answers(late, web)));
    await without('front', 'quiet');
  });

  it('allows all traffic again without policies', async () => {
    await without('back', 'allow');
    await without('back', 'deny');
    await untilAnswered(ALL);
  });

  it('refuses to remove the pod network', async () => {
    const patch = JSON.stringify({ spec: { addons: { network: 'none' } } });
    const edit = person.run(['patch', `ecs/${NAME}`, '--type=merge', '-p', patch]);
    await expect(edit).rejects.toThrow(/spec\.addons\.network cannot be changed yet/);
  });

  it('stops enforcing policies by a change of settings, and leaves no rule of them', async () => {
    await policy('back', 'deny', { podSelector: {}, policyTypes: ['Ingress'] });
    await policy('back', 'allow', allow);
    await untilAnswered(['front/near', 'front/far']);
    await sent([1, 2, 3], 'reconfiguring', { network: 'flannel' });
    await person.waitUpToDate(SECONDS);
    expect(await answered()).toEqual(ALL);
    for (const index of [0, 1, 2, 3]) {
      expect(await rulesOn(index), nodeAt(index).host.name).toEqual([]);
      expect(await sh(index, 'matryoshka-watch differences'), nodeAt(index).host.name).toBe('');
    }
    expect(await readyNodesOf(meta, NAME)).toEqual(entries(0, 1, 2, 3).map(nodeNameOf).sort());
  });

  it('enforces them again by the opposite change', async () => {
    await sent([1, 2, 3], 'reconfiguring', { network: 'flannel-policies' });
    await person.waitUpToDate(SECONDS);
    await untilAnswered(['front/near', 'front/far']);
    for (const index of [0, 1, 2, 3])
      expect(await sh(index, 'matryoshka-watch differences'), nodeAt(index).host.name).toBe('');
  });

  it('is deleted with its policies, and leaves no trace on its hosts', async () => {
    expect(await sh(1, '/usr/libexec/lab/ipset list -n')).toContain('KUBE-');
    await person.run(['delete', `ecs/${NAME}`, '--wait=false']);
    await person.untilGone(SECONDS * 1_000);
    for (const index of [0, 1, 2, 3]) expect(await traces(index), nodeAt(index).host.name).toEqual([]);
  });
});
