import { setTimeout as sleep } from 'node:timers/promises';
import pMap from 'p-map';
import { localService } from '#addons/local-service/addon.ts';
import { LOCAL_SERVICES, type LocalService } from '#addons/local-service/api.ts';
import { NODES, SERVICES, type Service } from '#api/core.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { createLogger } from '#base/log.ts';
import { CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES } from '#lab/apiserver/kinds.ts';
import { startApiServer } from '#lab/apiserver/start.ts';
import type { Say } from '#lab/artifacts/progress.ts';
import { createInformer } from '#runtime/cache/informer.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import type { Figure } from '../figures.ts';
import { type Counts, countRequests } from '../fleet/writes.ts';
import { measureLabelledPods, runLocalServices } from './labelled-pods.ts';
import { createServicesAlone, untilServices, WITH_BITMAP } from './services-alone.ts';

const NODE_COUNT = 100;
const LOCAL_COUNT = 50;
const AT_ONCE = 8;
/** Time without writes after which the controller is at rest. */
const QUIET_MS = 3_000;
const NAMESPACE = 'local-services';

const make = (client: Client, resource: Resource, objects: readonly KubeObject[]) =>
  pMap(objects, (object) => client.create(resource, object), { concurrency: AT_ONCE });
const nodeAt = (index: number): KubeObject => ({ metadata: { name: `node-${index}` } });

/** Returns the writes of Services, and all other writes of the controller, between two counts. */
function between(before: Counts, after: Counts): { services: number; others: number } {
  const grown = (verb: string, resource: string) =>
    (after.get(`${verb} ${resource}`) ?? 0) - (before.get(`${verb} ${resource}`) ?? 0);
  const writes = (resource: string) =>
    ['POST', 'PUT', 'PATCH', 'APPLY', 'DELETE'].reduce((sum, verb) => sum + grown(verb, resource), 0);
  return { services: writes('services'), others: writes('localservices') + writes('pods') };
}

/** Starts an API server with the CRD and 100 nodes, and a client with a cache of the Services. */
async function worldOf(stack: AsyncDisposableStack, say: Say, flags: readonly string[] = []) {
  const without = '--disable-admission-plugins=ServiceAccount';
  const server = stack.use(await startApiServer({ say, flags: [without, ...flags] }));
  const endpoint = await loadEndpoint({ kubeconfig: server.kubeconfigPath });
  const client = createClient(endpoint, { userAgent: 'bench' });
  stack.defer(() => client.close());
  await client.create(NAMESPACES, { metadata: { name: NAMESPACE } });
  for (const crd of localService.crds) await client.create(CUSTOM_RESOURCE_DEFINITIONS, asObject(crd()));
  await make(
    client,
    NODES,
    Array.from({ length: NODE_COUNT }, (_, index) => nodeAt(index)),
  );
  await served(client);
  return client;
}

/**
 * Measures the seconds from the first LocalService until each of 50 has its Service on each of 100 nodes. The controllers
 * continue.
 */
async function placed(stack: AsyncDisposableStack, client: Client) {
  const ending = new AbortController();
  const seen = createInformer<Service>({
    ...{ client, resource: SERVICES, log: createLogger('silent') },
    selection: { namespace: NAMESPACE },
  });
  const watching = seen.run(ending.signal);
  stack.defer(async () => {
    ending.abort(new Error('done'));
    await watching;
  });
  const end = runLocalServices(client, NAMESPACE);
  stack.defer(end);
  const wanted = Array.from(
    { length: LOCAL_COUNT },
    (_, index): LocalService => ({
      metadata: { namespace: NAMESPACE, name: `local-${index}` },
      spec: { selector: { app: `app-${index}` }, ports: [{ port: 8080 }] },
    }),
  );
  const began = performance.now();
  await make(client, LOCAL_SERVICES, wanted);
  await untilServices(seen, NODE_COUNT * LOCAL_COUNT);
  return { seconds: (performance.now() - began) / 1_000, seen, end };
}

const IN_PLACE = `${NODE_COUNT} nodes × ${LOCAL_COUNT} LocalServices in place`;

/** Measures 50 LocalServices that are created at once on 100 nodes; then one node joins; then there are 5,000 pods. */
export async function measureLocalServices(say: Say): Promise<{ figures: Figure[]; lines: string[] }> {
  const figures: Figure[] = [];
  {
    say('LocalServices, with addresses in a bitmap');
    await using stack = new AsyncDisposableStack();
    const { seconds } = await placed(stack, await worldOf(stack, say, WITH_BITMAP));
    figures.push({ name: `${IN_PLACE}, addresses in a bitmap (s)`, ours: seconds, bound: 30 });
  }
  let alone: number;
  {
    say('Services by one client alone');
    await using stack = new AsyncDisposableStack();
    alone = await createServicesAlone(await worldOf(stack, say), NAMESPACE, NODE_COUNT * LOCAL_COUNT);
  }
  say('LocalServices');
  await using stack = new AsyncDisposableStack();
  const client = await worldOf(stack, say);
  const { seconds, seen, end } = await placed(stack, client);
  figures.push({
    name: `${IN_PLACE} where each Service has all addresses counted (s), against one client that only creates`,
    ours: seconds,
    peer: alone,
    // Measured 1.0 to 1.3 by chance: the server's own work grows with the square, so other work on the machine counts twice.
    bound: 1.5,
  });
  await sleep(QUIET_MS);
  const before = await countRequests(client);
  await client.create(NODES, nodeAt(NODE_COUNT));
  await untilServices(seen, (NODE_COUNT + 1) * LOCAL_COUNT);
  await sleep(QUIET_MS);
  const { services, others } = between(before, await countRequests(client));
  await end();
  const pods = await measureLabelledPods(client, NAMESPACE);
  return {
    figures: [
      ...figures,
      { name: 'writes of Services for one node more', ours: services, bound: LOCAL_COUNT },
      ...pods.figures,
    ],
    lines: [
      `one node more: ${services} writes of Services, ${others} of status, which counts nodes`,
      ...pods.lines,
    ],
  };
}

const asObject = (text: object): KubeObject => ({ metadata: {}, ...text });

/** Waits until a CRD is served, which happens a moment after its creation and is not reported. */
async function served(client: Client): Promise<void> {
  for (let tries = 1; tries <= 200; tries += 1) {
    const there = await client.list(LOCAL_SERVICES, { limit: 1 }).catch(() => undefined);
    if (there) return;
    await sleep(50);
  }
  throw new Error('LocalServices are not served');
}
