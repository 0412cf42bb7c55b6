import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { nodeNameOf } from '#api/host.ts';
import { sleep } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import { type BootstrapOptions, bootstrap } from '#bootstrap/bootstrap.ts';
import { labReleases } from '#lab/artifacts/lab-releases.ts';
import { untilCluster, untilDone } from '#lab/meta/cluster.ts';
import { expireCertificates } from '#lab/meta/expiry.ts';
import { faults, seen } from '#lab/meta/faults.ts';
import { bootstrapOptions, type Meta, openInstalled } from '#lab/meta/meta.ts';
import { operatorImages } from '#lab/operator-images.ts';
import { byNumber } from './by-number.ts';
import { membersOn } from './etcd-members.ts';
import { openLane } from './lanes.ts';
import { QUICK_KEYS } from './quick-keys.ts';

/** A meta cluster of an older release, whose certificates have expired: the next run of bootstrap mends both. A later run adds hosts. */
const [newest, older] = labReleases;
const OPERATION_MS = 10 * 60_000;

let meta: Meta;
let folder: string;
let options: BootstrapOptions;
beforeAll(async () => {
  meta = await openLane();
  folder = await mkdtemp(join(tmpdir(), 'old-meta-'));
  options = {
    ...(await bootstrapOptions([host(0)], await operatorImages(() => {}))),
    nodeName: nodeNameOf(host(0)),
    kubeconfigOut: join(folder, 'meta.kubeconfig'),
    caOut: join(folder, 'ca.crt'),
  };
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await meta.close();
});

const { host, sh } = byNumber(() => meta);

/** Returns an image with the same content and another id. */
async function relabelled(image: string): Promise<string> {
  const tag = 'matryoshka-operator:lab-relabelled';
  await execa('docker', ['build', '-q', '-t', tag, '-'], { input: `FROM ${image}\nLABEL again=yes\n` });
  return tag;
}
const kubectl = (words: string) => sh(0, `kubectl --kubeconfig /etc/kubernetes/admin.conf ${words}`);
const versions = () => kubectl("get nodes -o 'jsonpath={.items[*].status.nodeInfo.kubeletVersion}'");

it('is installed with an older release', async () => {
  expect(older).toBeDefined();
  await bootstrap({ ...options, kubeVersion: older?.kubernetes }, () => {});
  expect(await versions()).toBe(older?.kubernetes);
  await kubectl('create configmap note --from-literal=a=b');
});

it('is renewed and upgraded by the next run, and keeps its objects', async () => {
  await expireCertificates([host(0)], []);
  const said: string[] = [];
  const { restUrl } = await bootstrap(options, (line) => said.push(line));
  expect(said).toEqual(
    expect.arrayContaining([
      'certificates have expired or end within 30 days: renewing',
      expect.stringContaining(`upgrading the meta cluster from ${older?.kubernetes} to ${newest.kubernetes}`),
    ]),
  );
  expect(await versions()).toBe(newest.kubernetes);
  expect(await kubectl("get configmap note -o 'jsonpath={.data.a}'")).toBe('b');
  expect(await sh(0, `curl -sk -m 5 ${restUrl}/healthz -o /dev/null -w '%{http_code}'`)).toBe('200');
});

it('is left as it is by one more run', async () => {
  const pids = () => sh(0, 'pidof kubelet kube-apiserver etcd');
  const before = await pids();
  await bootstrap(options, () => {});
  expect(await pids()).toBe(before);
});

it('gets another operator while a cluster is created, and REST answers all the time', async () => {
  const urls = { restUrl: `https://${host(0).ip}:32443`, artifactsUrl: `http://${host(0).ip}:32080` };
  const own = await openInstalled(options, urls, host(0), []);
  const path = '/region/lab/cluster/meanwhile';
  const unanswered: string[] = [];
  let asking = true;
  const asked = async () => {
    while (asking) {
      const { status } = await own.rest
        .raw('GET', path)
        .catch((error: unknown) => ({ status: messageOf(error) }));
      if (status !== 200) unanswered.push(`${new Date().toISOString()} ${status}`);
      await sleep(200);
    }
  };
  try {
    const lists = { masterList: [{ ip: host(3).ip }], nodeList: [{ ip: host(4).ip }] };
    const body = { name: 'meanwhile', ...lists, kubeadm: QUICK_KEYS, privateSSHKey: own.privateKey };
    expect(await own.rest.raw('POST', path, body)).toMatchObject({ status: 200 });
    const all = asked();
    await seen('the creation at work', () => faults.isTaken(host(3)));
    await bootstrap({ ...options, operatorImage: await relabelled(options.operatorImage) }, () => {});
    const { status } = await untilDone(own, 'meanwhile', OPERATION_MS);
    asking = false;
    await all;
    expect(status).toMatchObject({ phase: 'Running', operation: { result: 'finished', attempt: 1 } });
    expect(unanswered).toEqual([]);
    expect(await own.rest.raw('DELETE', path, {})).toMatchObject({ status: 200 });
    await untilCluster(own, 'meanwhile', (one) => one === undefined, OPERATION_MS);
  } finally {
    asking = false;
    await own.close();
  }
});

it('gets two more hosts, and serves while its first one is away', async () => {
  const three = [host(0), host(1), host(2)];
  await bootstrap({ ...options, host: three.map(({ ip }) => ip) }, () => {});
  expect(await kubectl("get nodes -o 'jsonpath={.items[*].metadata.name}'")).toBe(
    ['', '-2', '-3'].map((more) => `${options.nodeName}${more}`).join(' '),
  );
  expect(await membersOn(host(1))).toHaveLength(3);
  await faults.powerOff(host(0));
  try {
    const healthy = `curl -sk -m 5 https://${host(1).ip}:32443/healthz -o /dev/null -w '%{http_code}' || true`;
    await seen('REST on another host', async () => (await sh(1, healthy)) === '200');
    const note = "get configmap note -o 'jsonpath={.data.a}'";
    expect(await sh(1, `kubectl --kubeconfig /etc/kubernetes/admin.conf ${note}`)).toBe('b');
  } finally {
    await faults.powerOn(host(0));
  }
});
