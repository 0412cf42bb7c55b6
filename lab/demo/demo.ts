import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SECRETS, secretData } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { isResultValue } from '#api/operation-values.ts';
import { UsageError } from '#base/errors.ts';
import { labReleases } from '../artifacts/lab-releases.ts';
import type { Say } from '../artifacts/progress.ts';
import { docker, dockerOrUndefined } from '../hosts/docker.ts';
import { keyPath, type LabHost, labDir } from '../hosts/places.ts';
import { kubectl, kubectlPath } from '../kubectl.ts';
import { clientOf, kubeconfigOf, untilCluster, untilDone } from '../meta/cluster.ts';
import { seen } from '../meta/faults.ts';
import { type Meta, metaUp } from '../meta/meta.ts';
import { askService, DEPLOYMENTS, WEB } from '../meta/web.ts';
import { withLab } from './lease.ts';
import { pageThroughIngress } from './page.ts';
import { followHosts } from './progress.ts';
import { type Timings, timings } from './timings.ts';

const NAME = 'demo';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 10 * 60_000;
const REACHED_MS = 60_000;
const HOSTS = 6;

export interface DemoOptions {
  /** 2: the meta cluster; 3: a cluster by annotation; 4: by REST; 5: scaled and deleted as well. */
  stage: number;
  /** Whether it stops before the deletion, and prints how to use the cluster. */
  keep: boolean;
}

/** Shows the life of a cluster, from bare hosts through changes to its deletion. It ends with the duration of each step. */
export const demo = ({ stage, keep }: DemoOptions, say: Say): Promise<void> =>
  withLab(keep, say, async () => {
    const clock = timings();
    const meta = await clock.measure('lab, images and meta cluster', () => metaUp(HOSTS, say));
    try {
      if (stage >= 3) await cluster(meta, stage, keep, clock);
      clock.print();
      if (keep) reportHowToUse(meta, stage >= 3);
    } finally {
      await meta.close();
    }
  });

const entries = (hosts: readonly LabHost[]): { ip: string }[] => hosts.map(({ ip }) => ({ ip }));

async function cluster(meta: Meta, stage: number, keep: boolean, clock: Timings): Promise<void> {
  const masters = meta.hosts.slice(0, 3);
  const [worker, spare] = meta.hosts.slice(3);
  const victim = masters.at(-1);
  if (!worker || !spare || !victim) throw new UsageError(`the demo needs ${HOSTS} hosts`);
  const [newest, older] = labReleases;
  // With the older release, there is something to upgrade to.
  const kubeVersion = stage < 5 ? newest.kubernetes : (older ?? newest).kubernetes;
  const base = { masterList: entries(masters), nodeList: entries([worker]), kubeVersion };
  await clock.measure('create: 3 control planes, 1 worker, to Running', async () => {
    const found = await foundCluster(meta);
    if (found?.status?.phase === 'Running') return reported('is there already');
    if (stage === 3) return byAnnotation(meta, base);
    // A cluster that an earlier run left unfinished is requested again.
    const retry = found === undefined ? {} : { retry: true };
    return asked(meta, 'POST', PATH, { name: NAME, ...base, privateSSHKey: meta.privateKey, ...retry });
  });
  await clock.measure('a Service answers', () => show(meta, worker));
  if (stage < 5) return;
  await clock.measure('scale up by one worker', () => scaled(meta, 'scaleup', [worker, spare]));
  await clock.measure('scale down by one worker', () => scaled(meta, 'scaledown', [worker]));
  await clock.measure('a control plane is killed: its worker reaches the API again', () =>
    killed(victim, worker),
  );
  await clock.measure('another host takes its place', () => replaced(meta, victim, spare));
  // The host returns without belonging to the cluster, and is reset with it.
  await docker(['start', victim.name]);
  await clock.measure('a page of the cluster, through our Ingress', async () => {
    process.stdout.write(`${await pageThroughIngress(meta, demoKubeconfig, worker)}\n`);
  });
  await clock.measure('save a snapshot of etcd, and restore it as a test', () =>
    asked(meta, 'POST', `${PATH}/snapshot`, {}),
  );
  await clock.measure('a Deployment is deleted; restore the snapshot', () => restored(meta, worker));
  // A control plane more takes a minute more.
  await clock.measure('scale down to one control plane', () => oneControlPlane(meta));
  if (older)
    await clock.measure(`upgrade from ${older.kubernetes} to ${newest.kubernetes}`, () =>
      upgraded(meta, newest.kubernetes),
    );
  if (keep) return;
  await clock.measure('delete', async () => {
    await post(meta, 'DELETE', PATH);
    await untilCluster(meta, NAME, (one) => one === undefined, OPERATION_MS);
  });
}

const reported = (how: string) => {
  process.stdout.write(`cluster ${NAME} ${how}\n`);
};

/** Waits until no operation runs, and returns the cluster of an earlier run, if any. */
async function foundCluster(meta: Meta): Promise<KubernetesCluster | undefined> {
  const key = { namespace: 'default', name: NAME };
  const found = await meta.client.find<KubernetesCluster>(KUBERNETES_CLUSTERS, key);
  if (!found) return undefined;
  reported('is here from an earlier run; waiting until nothing is going on with it');
  const still = (one: KubernetesCluster | undefined) =>
    one !== undefined && (one.metadata.deletionTimestamp !== undefined || !isAtRest(one));
  return untilCluster(meta, NAME, (one) => !still(one), OPERATION_MS);
}

const isAtRest = ({ metadata }: KubernetesCluster): boolean =>
  isResultValue(metadata.annotations?.[annotations.operation] ?? '');

async function post({ rest }: Meta, method: 'POST' | 'DELETE', path: string, body?: unknown): Promise<void> {
  const answer = await rest.raw(method, path, body);
  process.stdout.write(`${method} /api/v1${path} → ${answer.status} ${JSON.stringify(answer.body)}\n`);
  if (answer.status >= 300) throw new UsageError(`the server refused: ${JSON.stringify(answer.body)}`);
}

/** Scales to these workers, unless an earlier run has. */
async function scaled(
  meta: Meta,
  route: 'scaleup' | 'scaledown',
  workers: readonly LabHost[],
): Promise<void> {
  const { spec } = await present(meta);
  const there = new Set(spec.cluster.nodeList?.map(({ ip }) => ip));
  if (there.size === workers.length && workers.every(({ ip }) => there.has(ip)))
    return reported('has these workers');
  // This follows only an interrupted run: its workers are there, and the next step removes them.
  if (route === 'scaleup' && there.size > workers.length) return reported('has more workers');
  await asked(meta, 'POST', `${PATH}/${route}`, { nodeList: entries(workers) });
}

/** Ends a host like a power cut, and waits until the API server would answer the kubelet of another host. */
async function killed(victim: LabHost, worker: LabHost): Promise<void> {
  await docker(['kill', victim.name]);
  reported(`has lost ${victim.name} (${victim.ip})`);
  const ask = `curl -sk -m 2 "https://$(awk '/matryoshka/ { print $2; exit }' /etc/hosts):6443/readyz"`;
  const answers = async () => (await dockerOrUndefined(['exec', worker.name, 'sh', '-c', ask])) === 'ok';
  await seen('the API, from the worker', answers, { everyMs: 200, boundMs: REACHED_MS });
}

async function replaced(meta: Meta, victim: LabHost, spare: LabHost): Promise<void> {
  const { spec } = await present(meta);
  if (spec.cluster.masterList?.some(({ ip }) => ip === spare.ip)) return reported(`has ${spare.ip} already`);
  await asked(meta, 'POST', `${PATH}/replace`, { from: victim.ip, to: { ip: spare.ip } });
}

const present = (meta: Meta) =>
  meta.client.get<KubernetesCluster>(KUBERNETES_CLUSTERS, { namespace: 'default', name: NAME });

async function oneControlPlane(meta: Meta): Promise<void> {
  const { masterList = [] } = (await present(meta)).spec.cluster;
  if (masterList.length === 1) return reported('has one control plane');
  await asked(meta, 'POST', `${PATH}/scaledown`, { masterList: masterList.slice(0, 1) });
}

async function upgraded(meta: Meta, kubeVersion: string): Promise<void> {
  if ((await present(meta)).status?.version === kubeVersion) return reported(`is of ${kubeVersion}`);
  // There is no other worker to which pods could go.
  await asked(meta, 'POST', `${PATH}/update`, { kubeVersion, upgrade: { drainWorkers: false } });
}

/** Deletes a Deployment, restores the newest snapshot, and waits until the Deployment answers again. */
async function restored(meta: Meta, worker: LabHost): Promise<void> {
  const { status } = await present(meta);
  const [newest] = status?.etcdSnapshots?.stored ?? [];
  if (!newest) throw new UsageError('there is no snapshot');
  const before = await clientOf(await kubeconfigOf(meta, NAME));
  await before.delete(DEPLOYMENTS, WEB).finally(() => before.close());
  reported('has lost Deployment web');
  const body = { snapshot: newest.name, confirmDataLossSince: newest.createdAt };
  await asked(meta, 'POST', `${PATH}/restore`, body);
  const kubeconfig = await kubeconfigOf(meta, NAME);
  await writeFile(demoKubeconfig, kubeconfig, { mode: 0o600 });
  const after = await clientOf(kubeconfig);
  try {
    await after.get(DEPLOYMENTS, WEB);
    reported('has Deployment web again');
    process.stdout.write(`${await askService(after, worker.ip)}\n`);
  } finally {
    await after.close();
  }
}

/** Sends a REST request, shows a line for each host while the operation runs, and returns when it is done. */
async function asked(meta: Meta, method: 'POST', path: string, body: unknown): Promise<void> {
  await post(meta, method, path, body);
  await followed(meta);
}

async function followed(meta: Meta): Promise<void> {
  const over = new AbortController();
  const hosts = meta.hosts.map(({ ip }) => ip);
  const following = followHosts(meta.rest, PATH, hosts, over.signal);
  try {
    await untilDone(meta, NAME, OPERATION_MS);
  } finally {
    over.abort(new Error('the operation has ended'));
    await following;
  }
}

async function byAnnotation(
  meta: Meta,
  lists: Pick<KubernetesCluster['spec']['cluster'], 'masterList' | 'nodeList'>,
): Promise<void> {
  const secret = {
    metadata: { namespace: 'default', name: 'demo-keys' },
    data: secretData({ username: 'root', 'ssh-privatekey': meta.privateKey }),
  };
  const wanted: KubernetesCluster = {
    metadata: { namespace: 'default', name: NAME, annotations: { [annotations.operation]: 'creating' } },
    spec: { cluster: { ...lists, region: 'lab', credentialsSecret: 'demo-keys' } },
  };
  const options = { fieldManager: 'demo', force: true };
  await meta.client.apply(SECRETS, secret, options);
  await meta.client.apply(KUBERNETES_CLUSTERS, wanted, options);
  await followed(meta);
}

const demoKubeconfig = join(labDir, `${NAME}.kubeconfig`);

async function show(meta: Meta, worker: LabHost): Promise<void> {
  const kubeconfig = await kubeconfigOf(meta, NAME);
  await writeFile(demoKubeconfig, kubeconfig, { mode: 0o600 });
  process.stdout.write(`${await kubectl(demoKubeconfig, ['get', 'nodes,pods', '-A', '-o', 'wide'])}\n\n`);
  const client = await clientOf(kubeconfig);
  try {
    process.stdout.write(`${await askService(client, worker.ip)}\n`);
  } finally {
    await client.close();
  }
}

function reportHowToUse(meta: Meta, hasCluster: boolean): void {
  const cluster = `  the cluster        ${kubectlPath} --kubeconfig ${demoKubeconfig} get nodes\n`;
  process.stdout.write(`
The lab has now:
  the meta cluster   ${kubectlPath} --kubeconfig ${meta.kubeconfigPath} get ecs -A
${hasCluster ? cluster : ''}  hosts              ${meta.hosts.map(({ ip }) => ip).join(' ')} (SSH key: ${keyPath})
  web page           ${meta.restUrl}/ (sign in with a token)
  REST and its docs  ${meta.restUrl}/docs (authority: ${join(labDir, 'meta-ca.crt')})
  command line       make install, then: matryoshka login --server URL --ca AUTHORITY (docs/tasks/command-line.md)
  a token            ${kubectlPath} --kubeconfig ${meta.kubeconfigPath} create token lab-user
  remove everything  make lab-down
`);
}
