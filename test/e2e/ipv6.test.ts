import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nodeNameOf } from '#api/host.ts';
import { ip6Of } from '#lab/hosts/places.ts';
import { clientOf, kubeconfigOf, readyNodesOf, untilCluster } from '#lab/meta/cluster.ts';
import { seen } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import type { Client } from '#runtime/client/client.ts';
import { byKubectl } from './by-kubectl.ts';
import { byNumber } from './by-number.ts';
import { familiesOfNode, serviceIpsOf } from './families.ts';
import { openLane } from './lanes.ts';
import { answersAt, type TalkingPod, talkingPod } from './pods-that-talk.ts';
import { tracesOn } from './traces.ts';

/** A cluster that knows no IPv4: hosts, API servers, etcd, balancers, pods and Services. */
const NAME = 'six';
const SECONDS = 480;
const cidrs = { podCIDR: 'fd00:10:244::/56', serviceCIDR: 'fd00:10:96::/112' };
const TOLD_MS = 3 * 60_000;

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

const { host, sh } = byNumber(() => meta);
const entry = (index: number) => ({ ip: ip6Of(host(index)) });
const nodeName = (index: number) => nodeNameOf(entry(index));
const sent = (masters: number[], workers: number[], word: string) =>
  person.apply({ masters: masters.map(entry), workers: workers.map(entry), word, requestId: word, cidrs });
const readyAre = async (...indices: number[]) =>
  expect(await readyNodesOf(meta, NAME)).toEqual(indices.map(nodeName).sort());
const pod = (name: string, index: number) =>
  talkingPod(
    client,
    { namespace: `of-${name}`, name, labels: { app: name } },
    { host: host(index), nodeName: nodeName(index) },
  );
const untilAnswered = (from: TalkingPod, address: string, where?: string) =>
  seen(`${from.name} to be answered by ${address}`, () => answersAt(from, address, where));

describe('a cluster of IPv6 alone', () => {
  it('is made, of three control planes', async () => {
    await sent([0, 1, 2], [3], 'creating');
    await person.waitUpToDate(SECONDS);
    await readyAre(0, 1, 2, 3);
    client = await clientOf(await kubeconfigOf(meta, NAME));
  });

  it('has no IPv4 on any node, nor between its parts', async () => {
    for (const index of [0, 3]) {
      const { cidrs: networks, addresses } = await familiesOfNode(client, nodeName(index));
      expect(networks).toEqual([expect.stringMatching(/^fd00:10:244:.*\/64$/)]);
      expect(addresses).toEqual([ip6Of(host(index))]);
    }
    expect(await sh(0, 'cat /etc/kubernetes/manifests/*.yaml')).not.toMatch(/10\.88\.0\.\d/);
    expect(await sh(3, 'grep matryoshka /etc/hosts')).toMatch(/^::1 /);
  });

  it('lets pods of two nodes, and a Service, be reached', async () => {
    web = await pod('web', 3);
    expect(web.ips).toEqual([expect.stringMatching(/^fd00:10:244:/)]);
    const far = await pod('far', 0);
    await untilAnswered(far, web.ip);
    const clusterIPs = await serviceIpsOf(client, web.namespace, 'web');
    expect(clusterIPs).toEqual([expect.stringMatching(/^fd00:10:96::/)]);
    await untilAnswered(far, clusterIPs[0] ?? '', '80/health');
  });

  it('is seen to be healthy by the operator', async () => {
    const types = ['Ready', 'HostsReachable', 'ControlPlaneHealthy', 'EtcdHealthy', 'CertificatesValid'];
    const { status } =
      (await untilCluster(
        meta,
        NAME,
        (cluster) =>
          types.every((type) =>
            cluster?.status?.conditions?.some((one) => one.type === type && one.status === 'True'),
          ),
        TOLD_MS,
      )) ?? {};
    expect(status?.nodes).toEqual({ ready: 4, total: 4 });
  });

  it('has its first control plane replaced', async () => {
    await sent([1, 2, 4], [3], 'replacing');
    await person.waitUpToDate(SECONDS);
    await readyAre(1, 2, 3, 4);
    expect(await traces(0)).toEqual([]);
    // The one before asked the control plane that is gone.
    await client.close();
    client = await clientOf(await kubeconfigOf(meta, NAME));
    const late = await pod('late', 4);
    await untilAnswered(late, web.ip);
    await untilAnswered(web, late.ip);
  });

  it('leaves every host as it was', async () => {
    // What is looked for below was there.
    expect(await sh(3, 'ip -6 route; nft list tables')).toMatch(/flannel-v6\.1[\s\S]*ip6 flannel-ipv6/);
    await person.run(['delete', `ecs/${NAME}`, '--wait=false']);
    await person.untilGone(SECONDS * 1_000);
    for (const index of [0, 1, 2, 3, 4]) expect(await traces(index), host(index).name).toEqual([]);
  });
});
