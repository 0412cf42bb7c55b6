import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { kubeconfigOf, readyNodesOf, untilCluster, untilDone } from '#lab/meta/cluster.ts';
import { expireCertificates } from '#lab/meta/expiry.ts';
import { seen } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byNumber } from './by-number.ts';
import { deleteCluster } from './deletion.ts';
import { openLane } from './lanes.ts';
import { asPlanned } from './plan-and-result.ts';
import { QUICK_KEYS } from './quick-keys.ts';
import { tracesOn } from './traces.ts';
import { beginHistory } from './with-history.ts';

/** All certificates of a cluster are renewed while it serves, and again after all of them have expired. */
const NAME = 'renewed';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 10 * 60_000;
/** A report of a host after a change, and a probe after that. */
const REPORT_MS = 3 * 60_000;
const MASTERS = [0, 1, 2];
const WORKER = 3;
const ALL = [...MASTERS, WORKER];

let meta: Meta;
let traces: (index: number) => Promise<string[]>;
let history: Awaited<ReturnType<typeof beginHistory>> | undefined;

beforeAll(async () => {
  meta = await openLane();
  traces = await tracesOn(meta);
});
afterAll(async () => {
  await history?.drop();
  await meta.close();
});

const { host, entries, nodes, sh } = byNumber(() => meta);

const LEAVES = `cd /etc/kubernetes && {
  for file in $(find pki -name '*.crt' ! -name ca.crt ! -name front-proxy-ca.crt | sort); do echo "$file $(sha256sum < $file)"; done
  for file in *.conf; do echo "$file $(sed -n 's/.*client-certificate-data: //p' $file | sha256sum)"; done; }`;
/** Returns the sums of all certificates of a control plane but the kubelet's, by file. */
const leavesOn = async (index: number): Promise<Map<string, string>> =>
  new Map(
    (await sh(index, LEAVES))
      .split('\n')
      .map((line): [string, string] => [line.split(' ')[0] ?? '', line])
      .filter(([file]) => file !== 'kubelet.conf'),
  );
const servedBy = (index: number): Promise<string> =>
  sh(
    index,
    'openssl s_client -connect 127.0.0.1:6443 < /dev/null 2> /dev/null | openssl x509 -noout -serial',
  );
/** Waits until status has such an end of the first certificate, and returns it. Hosts and probes report it. */
const firstEnd = async (isMeant: (end: string) => boolean): Promise<string> => {
  const of = (cluster: KubernetesCluster | undefined) => cluster?.status?.certificatesExpire ?? '';
  const cluster = await untilCluster(meta, NAME, (one) => isMeant(of(one)), REPORT_MS);
  return of(cluster);
};
const renewed = async () => {
  expect(await meta.rest.raw('POST', `${PATH}/renew`, {})).toMatchObject({ status: 200 });
  await untilDone(meta, NAME, OPERATION_MS);
};

describe('a cluster of three control planes and a worker', () => {
  it('is created', async () => {
    const lists = { masterList: entries(...MASTERS), nodeList: entries(WORKER) };
    const body = { name: NAME, ...lists, kubeadm: QUICK_KEYS, privateSSHKey: meta.privateKey };
    expect(await meta.rest.raw('POST', PATH, body)).toMatchObject({ status: 200 });
    await untilDone(meta, NAME, OPERATION_MS);
  });

  it('gets new certificates everywhere, and loses no request meanwhile', async () => {
    history = await beginHistory(meta, NAME, host(WORKER));
    const before = await Promise.all(MASTERS.map(leavesOn));
    const served = await Promise.all(MASTERS.map(servedBy));
    const kubeconfig = await kubeconfigOf(meta, NAME);
    const haveReported = (cluster: KubernetesCluster | undefined) =>
      findCondition(cluster?.status?.conditions, 'HostsAsMade')?.status === 'True';
    await untilCluster(meta, NAME, haveReported, REPORT_MS);
    const first = await firstEnd((end) => end !== '');
    const begun = Date.now();
    await asPlanned(meta, NAME, renewed);
    console.log(`renewed after ${Math.round((Date.now() - begun) / 1_000)} s`);
    for (const [at, index] of MASTERS.entries()) {
      const now = await leavesOn(index);
      expect([...now.keys()]).toEqual([...(before[at]?.keys() ?? [])]);
      const kept = [...now].filter(([file, line]) => before[at]?.get(file) === line).map(([file]) => file);
      expect(kept, host(index).name).toEqual([]);
      await seen(
        `the new certificate of ${host(index).name}`,
        async () => (await servedBy(index)) !== served[at],
      );
      expect(await sh(index, 'matryoshka-watch differences'), host(index).name).toBe('');
      expect(await sh(index, 'ls -A /etc/kubernetes /run/matryoshka /var/lib/matryoshka')).not.toMatch(
        /renew|repair\.old/,
      );
    }
    expect(await kubeconfigOf(meta, NAME)).not.toBe(kubeconfig);
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(...ALL));
    await firstEnd((end) => end > first);
    await history.end();
  });

  it('is refused where an authority has no key, before anything changes', async () => {
    const key = '/etc/kubernetes/pki/front-proxy-ca.key';
    await sh(2, `mv ${key} /root/`);
    const before = await Promise.all(MASTERS.map(leavesOn));
    expect(await meta.rest.raw('POST', `${PATH}/renew`, {})).toMatchObject({ status: 200 });
    await expect(untilDone(meta, NAME, OPERATION_MS)).rejects.toThrow(
      `${key} is missing, so this control plane cannot issue certificates`,
    );
    expect(await Promise.all(MASTERS.map(leavesOn))).toEqual(before);
    await sh(2, `mv /root/front-proxy-ca.key ${key}`);
  });

  it('serves again after it was off until all certificates had expired', async () => {
    await expireCertificates(MASTERS.map(host), [host(WORKER)]);
    const begun = Date.now();
    await renewed();
    console.log(`renewed after ${Math.round((Date.now() - begun) / 1_000)} s, from nothing valid`);
    await seen(
      'every node Ready',
      async () => (await readyNodesOf(meta, NAME)).join() === nodes(...ALL).join(),
    );
  });

  it('is deleted, and leaves nothing', async () => {
    await deleteCluster(meta, NAME);
    for (const index of ALL) expect(await traces(index), host(index).name).toEqual([]);
  });
});
