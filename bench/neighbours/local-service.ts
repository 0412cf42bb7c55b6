import { setTimeout as sleep } from 'node:timers/promises';
import pMap from 'p-map';
import { NODES, SERVICES, type Service } from '#api/core.ts';
import { LOCAL_SERVICES, type LocalService } from '#api/local-service.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { createLogger } from '#base/log.ts';
import { localService } from '#controller/local-service/module.ts';
import { CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES } from '#lab/apiserver/kinds.ts';
import { startApiServer } from '#lab/apiserver/start.ts';
import type { Say } from '#lab/artifacts/progress.ts';
import { createInformer } from '#runtime/cache/informer.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import type { Figure } from '../figures.ts';
import { type Counts, countRequests } from '../fleet/writes.ts';
import { measureLabelledPods, runLocalServices } from './labelled-pods.ts';

const NODE_COUNT = 100;
const LOCAL_COUNT = 50;
const AT_ONCE = 8;
const WAIT_MS = 180_000;
/** Nothing more is written then. */
const QUIET_MS = 3_000;
const NAMESPACE = 'local-services';

const make = (client: Client, resource: Resource, objects: readonly KubeObject[]) =>
  pMap(objects, (object) => client.create(resource, object), { concurrency: AT_ONCE });
const nodeAt = (index: number): KubeObject => ({ metadata: { name: `node-${index}` } });

/** Writes of Services, and of anything else that the controller writes, between two counts. */
function between(before: Counts, after: Counts): { services: number; others: number } {
  const grown = (verb: string, resource: string) =>
    (after.get(`${verb} ${resource}`) ?? 0) - (before.get(`${verb} ${resource}`) ?? 0);
  const writes = (resource: string) =>
    ['POST', 'PUT', 'PATCH', 'APPLY', 'DELETE'].reduce((sum, verb) => sum + grown(verb, resource), 0);
  return { services: writes('services'), others: writes('localservices') + writes('pods') };
}

/** 50 LocalServices on 100 nodes come into being at once; then one node joins; then there are 5,000 pods. */
export async function measureLocalServices(say: Say): Promise<{ figures: Figure[]; lines: string[] }> {
  await using server = await startApiServer({ say, flags: ['--disable-admission-plugins=ServiceAccount'] });
  const client = createClient(await loadEndpoint({ kubeconfig: server.kubeconfigPath }), {
    userAgent: 'bench',
  });
  const log = createLogger('silent');
  const ending = new AbortController();
  let end = async () => {};
  const seen = createInformer<Service>({
    client,
    resource: SERVICES,
    selection: { namespace: NAMESPACE },
    log,
  });
  try {
    await client.create(NAMESPACES, { metadata: { name: NAMESPACE } });
    for (const crd of localService.crds) await client.create(CUSTOM_RESOURCE_DEFINITIONS, asObject(crd()));
    await make(
      client,
      NODES,
      Array.from({ length: NODE_COUNT }, (_, index) => nodeAt(index)),
    );
    await served(client);
    const watching = seen.run(ending.signal);
    end = runLocalServices(client, NAMESPACE);
    const untilThere = async (count: number) => {
      for (const until = performance.now() + WAIT_MS; seen.size < count; await sleep(20))
        if (performance.now() > until)
          throw new Error(`${seen.size} of ${count} Services after ${WAIT_MS} ms`);
    };
    const began = performance.now();
    await make(
      client,
      LOCAL_SERVICES,
      Array.from(
        { length: LOCAL_COUNT },
        (_, index): LocalService => ({
          metadata: { namespace: NAMESPACE, name: `local-${index}` },
          spec: { selector: { app: `app-${index}` }, ports: [{ port: 8080 }] },
        }),
      ),
    );
    await untilThere(NODE_COUNT * LOCAL_COUNT);
    const seconds = (performance.now() - began) / 1_000;
    await sleep(QUIET_MS);
    const before = await countRequests(client);
    await client.create(NODES, nodeAt(NODE_COUNT));
    await untilThere((NODE_COUNT + 1) * LOCAL_COUNT);
    await sleep(QUIET_MS);
    const { services, others } = between(before, await countRequests(client));
    await end();
    const pods = await measureLabelledPods(client, NAMESPACE);
    ending.abort(new Error('done'));
    await watching;
    return {
      figures: [
        { name: `${NODE_COUNT} nodes × ${LOCAL_COUNT} LocalServices in place (s)`, ours: seconds, bound: 30 },
        { name: 'writes of Services for one node more', ours: services, bound: LOCAL_COUNT },
        ...pods.figures,
      ],
      lines: [
        `one node more: ${services} writes of Services, ${others} of status, which counts nodes`,
        ...pods.lines,
      ],
    };
  } finally {
    await end();
    ending.abort(new Error('done'));
    await client.close();
  }
}

const asObject = (text: object): KubeObject => ({ metadata: {}, ...text });

/** A kind is served a moment after its definition was taken, and nothing tells when. */
async function served(client: Client): Promise<void> {
  for (let tries = 1; tries <= 200; tries += 1) {
    const there = await client.list(LOCAL_SERVICES, { limit: 1 }).catch(() => undefined);
    if (there) return;
    await sleep(50);
  }
  throw new Error('LocalServices are not served');
}
