import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tokenOf } from '#access/testing/accounts.ts';
import { streaming } from '#ansibleinit/uplink.ts';
import { PODS, type Pod } from '#api/core.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations, CALLBACK_AUDIENCE } from '#api/names.ts';
import { sleep, systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { startApiServer } from '#lab/apiserver/start.ts';
import { parseLimits } from '#operations/limits.ts';
import { createRecorder } from '#runtime/events/recorder.ts';
import { restApp } from '#server/app.ts';
import { packLog } from '#server/logs/log-pack.ts';
import { KUBECONFIG, startOperator } from '../test/worlds/operator.ts';
import { receivedBy } from './etcd-received.ts';
import { type Figure, isShort, row } from './figures.ts';
import { logFor } from './log-pace.ts';

/**
 * `node bench/operation-writes.ts`: measures the bytes that etcd receives for whole operations, against the size of their
 * logs. They include the controller, its Job, the Job's log and report, Events and records. Jobs are simulated: they log at
 * the rate of a creation, and report. Bytes of the idle machine are subtracted.
 */
const SECONDS = Number(process.env['SECONDS'] ?? 60);
const REST_SECONDS = 10;
/** Maximum time of an operation beyond its Job. */
const LATEST_MS = 60_000;
/** Maximum of etcd's bytes, as a multiple of the log. */
const BOUND = 3;

const dir = await mkdtemp(join(tmpdir(), 'operation-writes-'));
const apiServer = await startApiServer({ controllerManager: true });
const received = () => receivedBy(apiServer.etcdUrl);
let logged = 0;
let url = '';
const run = async (job: string): Promise<void> => {
  const { client, operatorNamespace: namespace } = operator;
  const labelSelector = `batch.kubernetes.io/job-name=${job}`;
  const { name = '', uid = '' } =
    (await client.list<Pod>(PODS, { namespace, labelSelector })).items[0]?.metadata ?? {};
  const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name, uid };
  const account = { namespace, name: 'runner' };
  const token = await tokenOf(client, account, { audiences: [CALLBACK_AUDIENCE], boundObjectRef });
  await writeFile(join(dir, 'token'), token);
  const uplink = streaming(
    { SERVER_URL: url, TOKEN_FILE: join(dir, 'token'), caFile: join(dir, 'ca.crt') },
    job,
    () => {},
  );
  logged = await logFor(uplink, { seconds: SECONDS, steps: 12 });
  await uplink.close(10_000);
  // The server does this when a Job has reported.
  await packLog(client, namespace, job);
};
const operator = await startOperator(
  apiServer.kubeconfigPath,
  async (job) => {
    // The auxiliary Job `precheck` logs almost nothing.
    if (/^(create|scale-up|scale-down|delete)-/.test(job)) await run(job);
    return { kind: 'report', success: true, kubeconfig: KUBECONFIG };
  },
  {
    onEvent(reason, message) {
      const cluster = present();
      if (cluster) recorder.event(cluster, 'Normal', reason, message);
    },
  },
);
const { client, namespace, operatorNamespace } = operator;
const log = createLogger('error');
const recorder = createRecorder({ client, component: 'matryoshka', instance: 'bench', log });
const present = (): KubernetesCluster | undefined => operator.clusters.get({ namespace, name: 'demo' });
const app = await restApp({
  client,
  tokenClient: client,
  jobClient: client,
  clock: systemClock,
  log,
  namespace: operatorNamespace,
  reportsNamespace: operatorNamespace,
  limits: () => parseLimits(undefined),
  offer: { versions: ['v1.34.4'] },
  audiences: [],
  runnerServiceAccount: 'runner',
});
await writeFile(join(dir, 'ca.crt'), '');
url = await app.listen({ host: '127.0.0.1', port: 0 });

const first = await received();
await sleep(REST_SECONDS * 1000);
const atRest = ((await received()) - first) / REST_SECONDS;

/** Waits until the cluster satisfies `holds`. */
async function until(holds: (cluster: KubernetesCluster | undefined) => boolean): Promise<void> {
  const began = performance.now();
  while (!holds(present())) {
    if (performance.now() - began > SECONDS * 1000 + LATEST_MS)
      throw new Error(`it stands so: ${JSON.stringify(present()?.status)}`);
    await sleep(100);
  }
}

/** Measures one operation, from its request until a moment after its end, when its Job is removed. */
async function measured(
  name: string,
  ask: () => Promise<unknown>,
  ended: () => Promise<void>,
): Promise<Figure> {
  const before = await received();
  const began = performance.now();
  await ask();
  await ended();
  await sleep(3_000);
  const etcd = (await received()) - before - ((performance.now() - began) / 1000) * atRest;
  return {
    name: `KiB to etcd for a ${name}, against its log`,
    ours: etcd / 1024,
    peer: logged / 1024,
    bound: BOUND,
  };
}

const hosts = (count: number) => Array.from({ length: count }, (_, at) => ({ ip: `10.77.0.${at + 10}` }));
const spec = (workers: number): KubernetesCluster['spec'] => ({
  cluster: {
    masterList: [{ ip: '10.77.0.1' }, { ip: '10.77.0.2' }, { ip: '10.77.0.3' }],
    nodeList: hosts(workers),
  },
});
const word = (text: string) => () =>
  until((cluster) => cluster?.metadata.annotations?.[annotations.operation] === text);
const { group, version, plural } = { group: 'ecs.yun.com', version: 'v1', plural: 'kubernetesclusters' };
const remove = () =>
  client.request('DELETE', `/apis/${group}/${version}/namespaces/${namespace}/${plural}/demo`);

const figures: Figure[] = [];
let failed = false;
try {
  figures.push(
    await measured(
      'creation of 3 + 2',
      () => operator.apply('demo', spec(2), 'creating', 'a'),
      word('create-finished'),
    ),
    await measured(
      'scale-up by one',
      () => operator.apply('demo', spec(3), 'scaling-up', 'b'),
      word('scale-up-finished'),
    ),
    await measured(
      'scale-down by one',
      () => operator.apply('demo', spec(2), 'scaling-down', 'c'),
      word('scale-down-finished'),
    ),
    await measured('deletion', remove, () => until((cluster) => cluster === undefined)),
  );
} catch (error) {
  failed = true;
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
} finally {
  for (const figure of figures) process.stdout.write(`${row(figure)}\n`);
  await app.close();
  await recorder.stop();
  await operator.stop();
  await apiServer.stop();
  await rm(dir, { recursive: true });
}
process.exit(failed || figures.some(isShort) ? 1 : 0);
