import { z } from 'zod';
import { conditionSchema } from '#api/conditions.ts';
import { hostSchema } from '#api/host.ts';
import { planStatusSchema } from '#api/plan-status.ts';
import { getCluster, listClusters } from '#rest/read-routes.ts';
import { CommandFailure, EXIT } from './failure.ts';
import type { Session } from './session.ts';

const hosts = z.array(hostSchema).default([]);

/** A cluster as commands read it: fields that an older or newer server does not have are absent. */
const clusterSchema = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().default('default'),
    uid: z.string().optional(),
    generation: z.number().optional(),
    creationTimestamp: z.string().optional(),
    deletionTimestamp: z.string().optional(),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
  spec: z.looseObject({
    paused: z.boolean().optional(),
    cluster: z.looseObject({
      region: z.string().default('default'),
      masterList: hosts,
      nodeList: hosts,
      etcdList: hosts,
    }),
  }),
  status: z
    .looseObject({
      phase: z.string().optional(),
      reason: z.string().optional(),
      message: z.string().optional(),
      summary: z.string().optional(),
      version: z.string().optional(),
      certificatesExpire: z.string().optional(),
      nodes: z.object({ ready: z.number(), total: z.number() }).optional(),
      conditions: z.array(conditionSchema.loose()).default([]),
      hosts: z
        .array(z.looseObject({ ip: z.string(), state: z.string(), message: z.string().optional() }))
        .default([]),
      etcdSnapshots: z
        .looseObject({
          stored: z.array(z.looseObject({ name: z.string(), createdAt: z.string() })).default([]),
        })
        .optional(),
      operation: z
        .looseObject({
          id: z.string(),
          name: z.string(),
          requestId: z.string(),
          step: z.string(),
          startedAt: z.string(),
          endedAt: z.string().optional(),
          requestedBy: z.string().optional(),
          result: z.string().optional(),
        })
        .optional(),
      plan: planStatusSchema.loose().optional(),
    })
    .default({ conditions: [], hosts: [] }),
});
export type Cluster = z.output<typeof clusterSchema>;

/** Path parameters of a cluster, and its namespace as a query. */
export interface Address {
  params: { region: string; name: string };
  query: { namespace: string };
}

export const API_VERSION = 'ecs.yun.com/v1';
export const KIND = 'KubernetesCluster';

/** A cluster, and the object as the server has it. */
export interface Found {
  cluster: Cluster;
  object: Readonly<Record<string, unknown>>;
  address: Address;
}

const NO_REGION = 'default';

const foundAt = (object: unknown, { params, query }: Address): Found => ({
  cluster: clusterSchema.parse(object),
  // The API answers objects without their type.
  object: { apiVersion: API_VERSION, kind: KIND, ...z.record(z.string(), z.unknown()).parse(object) },
  address: { params, query },
});

/** Returns the cluster at an address; undefined if there is none. */
export async function clusterAt(session: Session, address: Address): Promise<Found | undefined> {
  const object = await session.find(getCluster, address);
  return object === undefined ? undefined : foundAt(object, address);
}

/** Returns a cluster; undefined if there is none. Without --region, the server is asked for its region. */
async function findCluster(session: Session, name: string): Promise<Found | undefined> {
  const { namespace, region } = session;
  const at = (where: string): Address => ({ params: { region: where, name }, query: { namespace } });
  const address = at(region ?? NO_REGION);
  const found = await clusterAt(session, address);
  if (found || region !== undefined) return found;
  const [other] = await sameName(session, name);
  return other === undefined ? undefined : foundAt(other, at(clusterSchema.parse(other).spec.cluster.region));
}

/** Returns the clusters of that name in all regions; none if the user may not list clusters. */
async function sameName({ call, namespace }: Session, name: string): Promise<unknown[]> {
  try {
    return (await call(listClusters, { params: {}, query: { namespace, name } })).items;
  } catch (error) {
    if (error instanceof CommandFailure && error.status === 403) return [];
    throw error;
  }
}

/** Returns a cluster. Throws CommandFailure if there is none. */
export async function clusterNamed(session: Session, name: string): Promise<Found> {
  const found = await findCluster(session, name);
  if (found) return found;
  const where = session.region === undefined ? '' : `, region ${session.region}`;
  throw new CommandFailure(
    `there is no cluster ${name} in namespace ${session.namespace}${where}; "matryoshka get -A" lists clusters of all namespaces`,
    EXIT.refused,
  );
}

/** Returns all clusters of the namespace, or of all namespaces, page by page. */
export async function allClusters(session: Session, namespace: string | undefined): Promise<Found[]> {
  const found: Found[] = [];
  let from: string | undefined;
  do {
    const page = await session.call(listClusters, {
      params: {},
      query: { limit: 500, ...(namespace === undefined ? {} : { namespace }), continue: from },
    });
    for (const object of page.items) {
      const { metadata, spec } = clusterSchema.parse(object);
      if (session.region !== undefined && session.region !== spec.cluster.region) continue;
      found.push(
        foundAt(object, {
          params: { region: spec.cluster.region, name: metadata.name },
          query: { namespace: metadata.namespace },
        }),
      );
    }
    from = page.continue;
  } while (from !== undefined);
  return found;
}
