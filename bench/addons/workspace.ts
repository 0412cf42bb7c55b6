import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client as Channel, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { newAccount } from '#access/testing/new-account.ts';
import { workspace } from '#addons/workspace/addon.ts';
import { WORKSPACES, type Workspace, workspaceAnnotations } from '#addons/workspace/api.ts';
import { cloudIdeService } from '#addons/workspace/server/service-definition.ts';
import { runKubelet } from '#addons/workspace/testing/workspace-kubelet.fixture.ts';
import { NODES } from '#api/core.ts';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { createServerCertificates } from '#lab/apiserver/certificates.ts';
import { CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, SERVICE_ACCOUNTS } from '#lab/apiserver/kinds.ts';
import { freePorts } from '#lab/apiserver/ports.ts';
import { startApiServer } from '#lab/apiserver/start.ts';
import type { Say } from '#lab/artifacts/progress.ts';
import { createInformer } from '#runtime/cache/informer.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { createControllerHost } from '#runtime/process/controller-host.ts';
import { createManager } from '#runtime/process/manager.ts';
import type { Figure } from '../figures.ts';
import { pinned } from './processes.ts';

const COUNT = 200;
const ROUNDS = 20;
const WAIT_MS = 120_000;
const NAMESPACE = 'workspaces';
const NODE = 'node-0';
/** Cores that all processes share. */
const CORES = '0,1';
const PROGRAM = join(import.meta.dirname, '../../src/main.ts');
/** Spec of a Workspace; the simulated kubelet runs it. */
const SPEC = { image: 'editor', port: 8080 };

interface World {
  client: Client;
  /** Calls the gRPC service over TLS; resolves to the error of the call, or null. */
  call(method: string, message: object): Promise<ServiceError | null>;
  /** Resolves when a Workspace runs, according to a watch like the service's. */
  running(name: string): Promise<Workspace>;
}

/** Three ways: through the service, with its writes but without it, and with a creation only. */
const SIDES = ['ours', 'marked', 'bare'] as const;
type Side = (typeof SIDES)[number];

/**
 * Measures 200 clients that create a Workspace and wait for it, through the gRPC service and by the Kubernetes API, in turn.
 */
export async function measureWorkspaces(say: Say): Promise<{ figures: Figure[]; lines: string[] }> {
  await using server = await startApiServer({ say });
  const endpoint = await loadEndpoint({ kubeconfig: server.kubeconfigPath });
  const client = createClient(endpoint, { userAgent: 'bench' });
  const folder = await mkdtemp(join(tmpdir(), 'bench-workspaces-'));
  const ending = new AbortController();
  const ends: (() => Promise<unknown>)[] = [];
  try {
    await client.create(NAMESPACES, { metadata: { name: NAMESPACE } });
    await client.create(SERVICE_ACCOUNTS, { metadata: { namespace: NAMESPACE, name: 'default' } });
    await client.create(NODES, { metadata: { name: NODE } });
    for (const crd of workspace.crds)
      await client.create(CUSTOM_RESOURCE_DEFINITIONS, { metadata: {}, ...crd() });
    await served(client);
    const verbs = ['get', 'list', 'create', 'update', 'delete'];
    const rules = [{ apiGroups: [WORKSPACES.group], resources: [WORKSPACES.plural], verbs }];
    const token = await newAccount(client, endpoint, NAMESPACE, [{ namespace: NAMESPACE, rules }]);
    const world = await begin(client, server.kubeconfigPath, token, folder, ending.signal, ends);
    ends.unshift(runKubelet(client, NAMESPACE, NODE));
    const runs: Record<Side, number>[] = [];
    let errors = 0;
    for (let round = 0; round <= ROUNDS; round += 1) {
      const took: Partial<Record<Side, number>> = {};
      // The order rotates, because later sides have more objects and the last writes of earlier ones.
      for (let at = 0; at < SIDES.length; at += 1) {
        const side = SIDES[(at + round) % SIDES.length] ?? 'ours';
        took[side] = await timed(async () => {
          const all = Array.from({ length: COUNT }, (_, index) =>
            by[side](world, `${side}-${round}-${index}`),
          );
          errors += (await Promise.all(all)).filter((error) => error !== null).length;
        });
      }
      const { ours = 0, marked = 0, bare = 0 } = took;
      // The first round warms up all sides.
      if (round > 0) runs.push({ ours, marked, bare });
    }
    const total = (side: Side) => runs.reduce((sum, one) => sum + one[side], 0);
    const share = (side: Side) => (1 - total(side) / total('ours')) * 100;
    return {
      figures: [
        { name: `${COUNT} Workspaces at once: errors`, ours: errors, bound: 0 },
        { name: `… the gRPC service's share of the time (%)`, ours: share('marked'), bound: 20 },
      ],
      lines: [
        `${COUNT} Workspaces at once, through the service, by its writes without it, by a creation alone (s): ${runs
          .map((run) => SIDES.map((side) => run[side].toFixed(1)).join('/'))
          .join(' ')}`,
        `… the share of service and mark, against a creation alone, which would leave what nobody was told of: ${share('bare').toFixed(1)} %`,
      ],
    };
  } finally {
    ending.abort(new Error('done'));
    for (const end of ends) await end();
    await client.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function begin(
  client: Client,
  kubeconfig: string,
  token: string,
  folder: string,
  signal: AbortSignal,
  ends: (() => Promise<unknown>)[],
): Promise<World> {
  const log = createLogger('silent');
  const recorder = { event: () => {}, stop: async () => {} };
  const host = createControllerHost({
    ...{ client, clock: systemClock, log, namespace: NAMESPACE, recorder },
    workers: 4,
  });
  const controllers = workspace.module(host);
  const working = createManager({ caches: host.informers, controllers, log }).run(signal);
  const { ca, cert, key } = await createServerCertificates();
  await writeFile(join(folder, 'tls.crt'), cert);
  await writeFile(join(folder, 'tls.key'), key, { mode: 0o600 });
  const [port = 0, probePort = 0] = await freePorts(2);
  // The service runs in a separate process, as installed; clients and everything else run in this one.
  const serving = await pinned(
    CORES,
    [
      ...[process.execPath, PROGRAM, 'workspace-server', '--log-level=error', `--kubeconfig=${kubeconfig}`],
      ...[`--port=${port}`, `--probe-port=${probePort}`, `--cert-dir=${folder}`],
    ],
    port,
  );
  ends.push(async () => serving[Symbol.asyncDispose]());
  const channel = new Channel(`127.0.0.1:${port}`, credentials.createSsl(Buffer.from(ca)));
  const { running, watching } = await whoRuns(client, signal);
  ends.push(async () => channel.close());
  ends.push(() => Promise.all([working, watching]));
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${token}`);
  return {
    client,
    running,
    call: (method, message) =>
      new Promise((resolve) => {
        const definition = cloudIdeService()[method];
        if (!definition) throw new Error(`there is no method ${method}`);
        const { path, requestSerialize, responseDeserialize } = definition;
        const options = { deadline: Date.now() + WAIT_MS };
        channel.makeUnaryRequest(
          path,
          requestSerialize,
          responseDeserialize,
          message,
          metadata,
          options,
          (error) => resolve(error),
        );
      }),
  };
}

/** Watches for all waiting clients at once, as the service does. */
async function whoRuns(client: Client, signal: AbortSignal) {
  const waiting = new Map<string, (running: Workspace) => void>();
  const informer = createInformer<Workspace>({
    client,
    resource: WORKSPACES,
    log: createLogger('silent'),
  });
  const check = (workspace: Workspace) => {
    const { metadata, status } = workspace;
    if (status?.phase === 'Running') waiting.get(metadata.name ?? '')?.(workspace);
  };
  informer.addHandler({ add: check, update: (_before, after) => check(after) });
  const watching = informer.run(signal);
  await informer.whenSynced();
  const running = (name: string) => new Promise<Workspace>((resolve) => waiting.set(name, resolve));
  return { running, watching };
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await act();
  return (performance.now() - began) / 1_000;
}

/** Creates a Workspace by the Kubernetes API; returns null, as a call without error does. */
async function bare({ client, running }: World, name: string, annotations?: Record<string, string>) {
  const runs = running(name);
  const metadata = { namespace: NAMESPACE, name, ...(annotations ? { annotations } : {}) };
  await client.create<Workspace>(WORKSPACES, { metadata, spec: SPEC });
  return runs;
}

/** Adds the service's annotations, by which a Workspace is removed if no client learns that it runs. */
async function marked(world: World, name: string): Promise<null> {
  const until = new Date(Date.now() + WAIT_MS).toISOString();
  const made = await bare(world, name, {
    [workspaceAnnotations.awaitedUntil]: until,
    [workspaceAnnotations.askedBy]: name,
  });
  const metadata = { ...made.metadata, annotations: {} };
  await world.client.update<Workspace>(WORKSPACES, { ...made, metadata });
  return null;
}

const by: Record<Side, (world: World, name: string) => Promise<ServiceError | null>> = {
  ours: ({ call }, name) => call('createSpaceAndWaitForRunning', { name, namespace: NAMESPACE, ...SPEC }),
  marked,
  bare: (world, name) => bare(world, name).then(() => null),
};

/** Waits until a CRD is served, which happens a moment after its creation and is not reported. */
async function served(client: Client): Promise<void> {
  for (let tries = 1; tries <= 200; tries += 1) {
    if (await client.list(WORKSPACES, { limit: 1 }).catch(() => undefined)) return;
    await sleep(50);
  }
  throw new Error('Workspaces are not served');
}
