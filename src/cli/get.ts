import { plainText } from '#base/plain-text.ts';
import { ageOf } from '#base/time-span.ts';
import { listOperations } from '#rest/history.ts';
import { listClusterHosts, listHosts } from '#rest/hosts.ts';
import { listSnapshots } from '#rest/read-routes.ts';
import { allClusters, type Cluster, clusterNamed } from './clusters.ts';
import { CommandFailure, EXIT } from './failure.ts';
import type { Io } from './io.ts';
import type { Format } from './options.ts';
import { dataText, tableOf } from './output.ts';
import { type ConnectionOptions, withSession } from './session.ts';

type Options = ConnectionOptions & { output: Format };

const RESOURCE = 'kubernetescluster.ecs.yun.com';

const conditionOf = ({ status }: Cluster, type: string) =>
  status.conditions.find((condition) => condition.type === type)?.status ?? '';

const hostCount = ({ spec: { cluster } }: Cluster): number =>
  new Set([...cluster.masterList, ...cluster.nodeList, ...cluster.etcdList].map(({ ip }) => ip)).size;

function rowOf(
  cluster: Cluster,
  now: Date,
  { isWide, hasNamespace }: { isWide: boolean; hasNamespace: boolean },
) {
  const { metadata, spec, status } = cluster;
  const { nodes, operation } = status;
  const running = operation?.result === undefined ? operation : undefined;
  return [
    ...(hasNamespace ? [metadata.namespace] : []),
    metadata.name,
    status.phase ?? '',
    conditionOf(cluster, 'Ready'),
    status.version ?? '',
    nodes === undefined ? '' : `${nodes.ready}/${nodes.total}`,
    ageOf(metadata.creationTimestamp, now),
    ...(isWide
      ? [spec.cluster.region, String(hostCount(cluster)), running ? `${running.name}: ${running.step}` : '']
      : []),
    status.summary ?? '',
  ];
}

const headsOf = ({ isWide, hasNamespace }: { isWide: boolean; hasNamespace: boolean }): string[] => [
  ...(hasNamespace ? ['NAMESPACE'] : []),
  'NAME',
  'PHASE',
  'READY',
  'VERSION',
  'NODES',
  'AGE',
  ...(isWide ? ['REGION', 'HOSTS', 'OPERATION'] : []),
  'SUMMARY',
];

/** Prints a cluster, or all clusters of a namespace or of all namespaces. */
export function getClusters(
  name: string | undefined,
  { allNamespaces, ...options }: Options & { allNamespaces: boolean },
  io: Io,
): Promise<void> {
  return withSession(options, async (session) => {
    const found =
      name === undefined
        ? await allClusters(session, allNamespaces ? undefined : session.namespace)
        : [await clusterNamed(session, name)];
    const objects = found.map(({ object }) => object);
    const data = name === undefined ? { apiVersion: 'v1', kind: 'List', items: objects } : objects[0];
    const names = found.map(({ cluster }) => `${RESOURCE}/${cluster.metadata.name}`);
    const text = dataText(options.output, data, names);
    if (text !== undefined) {
      if (text !== '') io.print(text);
      return;
    }
    if (found.length === 0) {
      const ofRegion = session.region === undefined ? '' : ` of region ${session.region}`;
      io.note(
        allNamespaces
          ? `There are no clusters${ofRegion}.`
          : `There are no clusters in namespace ${session.namespace}${ofRegion}; -A shows those of all namespaces.`,
      );
      return;
    }
    const columns = { isWide: options.output === 'wide', hasNamespace: allNamespaces };
    const now = io.clock.now();
    io.print(
      tableOf(
        headsOf(columns),
        found.map(({ cluster }) => rowOf(cluster, now, columns)),
      ),
    );
  });
}

/** Prints the hosts of a cluster, or of all clusters. */
export function getHosts(name: string | undefined, options: Options, io: Io): Promise<void> {
  return withSession(options, async (session) => {
    const items =
      name === undefined
        ? await allHosts((from) =>
            session.call(listHosts, { params: {}, query: { limit: 500, continue: from } }),
          ).catch((error: unknown) => {
            if (!(error instanceof CommandFailure) || error.exitCode !== EXIT.notAllowed) throw error;
            throw new CommandFailure(
              `${error.message}; "matryoshka hosts CLUSTER" prints those of a cluster`,
              error.exitCode,
              error.status,
            );
          })
        : (await session.call(listClusterHosts, (await clusterNamed(session, name)).address)).items;
    const text = dataText(
      options.output,
      { items },
      items.map(({ ip }) => ip),
    );
    if (text !== undefined) {
      if (text !== '') io.print(text);
      return;
    }
    const isWide = options.output === 'wide';
    io.print(
      tableOf(
        [
          'HOST',
          'NAME',
          'CLUSTER',
          'DUTIES',
          'STATE',
          'LAST OPERATION',
          ...(isWide ? ['VERSIONS'] : []),
          'MESSAGE',
        ],
        items.map(({ ip, name: node, cluster, duties, state, lastRun, versions = {} }) => [
          ip,
          node,
          cluster,
          duties.join(','),
          state,
          lastRun ? `${lastRun.operation} ${lastRun.ok ? 'ok' : 'failed'}` : '',
          ...(isWide
            ? [
                Object.entries(versions)
                  .map((entry) => entry.join(' '))
                  .join(', '),
              ]
            : []),
          lastRun?.message ?? '',
        ]),
      ),
    );
  });
}

async function allHosts<T>(
  page: (from: string | undefined) => Promise<{ items: T[]; continue?: string | undefined }>,
) {
  const items: T[] = [];
  let from: string | undefined;
  do {
    const next = await page(from);
    items.push(...next.items);
    from = next.continue;
  } while (from !== undefined);
  return items;
}

/** Prints the operations of a cluster whose records are kept. */
export function getHistory(name: string, options: Options, io: Io): Promise<void> {
  return withSession(options, async (session) => {
    const { address } = await clusterNamed(session, name);
    const answer = await session.call(listOperations, address);
    const { items } = answer;
    const text = dataText(
      options.output,
      answer,
      items.map(({ id }) => id),
    );
    if (text !== undefined) {
      if (text !== '') io.print(text);
      return;
    }
    const now = io.clock.now();
    io.print(
      tableOf(
        ['ID', 'OPERATION', 'RESULT', 'BEGAN', 'TOOK', 'REQUESTED BY', 'MESSAGE'],
        items.map(({ id, operation, result, startedAt, endedAt, requestedBy = '', message = '' }) => [
          id,
          operation,
          result,
          `${ageOf(startedAt, now)} ago`,
          endedAt === undefined ? '' : ageOf(startedAt, new Date(endedAt)),
          requestedBy,
          message,
        ]),
      ),
    );
  });
}

/** Prints the snapshots of a cluster. */
export function getSnapshots(name: string, options: Options, io: Io): Promise<void> {
  return withSession(options, async (session) => {
    const { address } = await clusterNamed(session, name);
    const answer = await session.call(listSnapshots, address);
    const { items, failedAt } = answer;
    const text = dataText(
      options.output,
      answer,
      items.map((one) => one.name),
    );
    if (text !== undefined) {
      if (text !== '') io.print(text);
      return;
    }
    if (failedAt !== undefined) io.note(plainText(`The last snapshot failed at ${failedAt}.`));
    if (items.length === 0) {
      io.note(`Cluster ${name} has no snapshots; "matryoshka snapshot ${name}" saves one.`);
      return;
    }
    const now = io.clock.now();
    io.print(
      tableOf(
        ['NAME', 'CREATED', 'AGE', 'MIB'],
        items.map((one) => [
          one.name,
          one.createdAt,
          ageOf(one.createdAt, now),
          (one.size / 2 ** 20).toFixed(1),
        ]),
      ),
    );
  });
}
