import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { nodeNameOf } from '#api/host.ts';
import { type BootstrapOptions, bootstrap } from '#bootstrap/bootstrap.ts';
import { labReleases } from '#lab/artifacts/lab-releases.ts';
import { expireCertificates } from '#lab/meta/expiry.ts';
import { bootstrapOptions, type Meta } from '#lab/meta/meta.ts';
import { operatorImages } from '#lab/operator-images.ts';
import { byNumber } from './by-number.ts';
import { openLane } from './lanes.ts';

/** A meta cluster of an older release, whose certificates have expired: one more run of bootstrap mends both. */
const [newest, older] = labReleases;

let meta: Meta;
let folder: string;
let options: BootstrapOptions;
beforeAll(async () => {
  meta = await openLane();
  folder = await mkdtemp(join(tmpdir(), 'old-meta-'));
  options = {
    ...(await bootstrapOptions(host(0), await operatorImages(() => {}))),
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
