import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nodeNameOf } from '#api/host.ts';
import { ip6Of } from '#lab/hosts/places.ts';
import { clientOf, kubeconfigOf, readyNodesOf } from '#lab/meta/cluster.ts';
import { seen } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import type { Client } from '#runtime/client/client.ts';
import { byKubectl } from './by-kubectl.ts';
import { byNumber } from './by-number.ts';
import { familiesOfNode, serviceIpsOf } from './families.ts';
import { openLane } from './lanes.ts';
import { answersAt, type TalkingPod, talkingPod } from './pods-that-talk.ts';
import { tracesOn } from './traces.ts';

const NAME = 'dual-stack';
const SECONDS = 480;
const cidrs = {
  podCIDR: '10.244.0.0/16,fd00:10:244::/56',
  serviceCIDR: '10.96.0.0/16,fd00:10:96::/112',
};

let meta: Meta;
let person: ReturnType<typeof byKubectl>;
let traces: (index: number) => Promise<string[]>;
let client: Client;
let web: TalkingPod;

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

const { entries, host, nodes, sh } = byNumber(() => meta);
const at = (index: number) => ({ host: host(index), nodeName: nodeNameOf({ ip: host(index).ip }) });
const sent = (workers: number[], word: string, requestId = word) =>
  person.apply({ masters: entries(0), workers: entries(...workers), word, requestId, cidrs });
const pod = (name: string, index: number) =>
  talkingPod(client, { namespace: `of-${name}`, name, labels: { app: name } }, at(index));

const nodeOf = (index: number) => familiesOfNode(client, at(index).nodeName);
const serviceIps = () => serviceIpsOf(client, web.namespace, 'web', { ipFamilyPolicy: 'RequireDualStack' });
/** Returns the addresses that answer the pod. */
async function answered(from: TalkingPod, addresses: readonly string[], where?: string): Promise<string[]> {
  const got = await Promise.all(addresses.map((address) => answersAt(from, address, where)));
  return addresses.filter((_one, index) => got[index]);
}
const untilAnswered = (from: TalkingPod, addresses: readonly string[], where?: string) =>
  seen(
    `${from.name} to be answered by ${addresses}`,
    async () => (await answered(from, addresses, where)).length === addresses.length,
  );

describe('a dual-stack cluster', () => {
  it('is not created with a host that has no IPv6 address, which is named', async () => {
    const { ip } = host(2);
    const own = ip6Of(host(2));
    await sh(2, `ip -6 address del ${own}/64 dev eth0`);
    await sent([1, 2], 'creating', 'without-ipv6');
    await person.untilStalled('OperationFailed', SECONDS * 1_000);
    const { status } = (await person.get()) ?? {};
    expect(status?.reason).toBe('PrecheckFailed');
    expect(status?.message).toContain(`${ip}: eth0, which has ${ip}, has no global IPv6 address`);
    for (const index of [0, 1]) expect(await traces(index), host(index).name).toEqual([]);
    await sh(2, `ip -6 address add ${own}/64 dev eth0 nodad`);
    expect(await traces(2)).toEqual([]);
  });

  it('is created', async () => {
    await sent([1, 2], 'creating');
    await person.waitUpToDate(SECONDS);
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, 2));
    client = await clientOf(await kubeconfigOf(meta, NAME));
  });

  it('has two pod CIDRs and two addresses on each node', async () => {
    for (const index of [0, 1, 2]) {
      const { cidrs: networks, addresses } = await nodeOf(index);
      expect(networks).toEqual([
        expect.stringMatching(/^10\.244\.\d+\.0\/24$/),
        expect.stringMatching(/^fd00:10:244:.*\/64$/),
      ]);
      expect(addresses).toEqual([host(index).ip, ip6Of(host(index))]);
    }
  });

  it('reaches pods of two nodes, and a Service, by both families', async () => {
    web = await pod('web', 1);
    expect(web.ips).toEqual([expect.stringMatching(/^10\.244\./), expect.stringMatching(/^fd00:10:244:/)]);
    const far = await pod('far', 2);
    await untilAnswered(far, web.ips);
    const ips = await serviceIps();
    expect(ips).toEqual([expect.stringMatching(/^10\.96\./), expect.stringMatching(/^fd00:10:96::/)]);
    await untilAnswered(far, ips, '80/health');
  });

  it('has both families on a node that joins later', async () => {
    await sent([1, 2, 3], 'scaling-up');
    await person.waitUpToDate(SECONDS);
    expect(await nodeOf(3)).toMatchObject({ addresses: [host(3).ip, ip6Of(host(3))] });
    const late = await pod('late', 3);
    await untilAnswered(late, web.ips);
    await untilAnswered(late, await serviceIps(), '80/health');
    await untilAnswered(web, late.ips);
  });

  it('is deleted, and leaves no trace on its hosts', async () => {
    // Proves that the checks below would find something.
    expect(await sh(3, 'ip -6 route; nft list tables')).toMatch(/flannel-v6\.1[\s\S]*table ip6 nat/);
    await person.run(['delete', `ecs/${NAME}`, '--wait=false']);
    await person.untilGone(SECONDS * 1_000);
    for (const index of [0, 1, 2, 3]) expect(await traces(index), host(index).name).toEqual([]);
  });
});
