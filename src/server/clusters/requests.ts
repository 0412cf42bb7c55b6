import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import type { User } from '#access/permissions.ts';
import { isDryRun } from '#api/cluster-facts.ts';
import {
  type ClusterSpec,
  KUBERNETES_CLUSTERS,
  type KubernetesCluster,
  type Spec,
} from '#api/kubernetes-cluster.ts';
import type { ObjectKey } from '#api/meta.ts';
import { annotations } from '#api/names.ts';
import { operationAsked } from '#api/operation-values.ts';
import type { Problem } from '#base/errors.ts';
import { ok } from '#rest/answers.ts';
import type { askedSchema } from '#rest/plan.ts';
import type { Client } from '#runtime/client/client.ts';
import { isConflict, isUncertain } from '#runtime/wire/api-error.ts';
import { accepted } from '../http/accepted.ts';
import { conflict, notFound } from '../http/errors.ts';

/** The region of an object that names none. */
const NO_REGION = 'default';
const regionOf = ({ spec }: Pick<KubernetesCluster, 'spec'>): string => spec.cluster.region ?? NO_REGION;

export const keyOf = ({ metadata }: KubernetesCluster): ObjectKey => ({
  namespace: metadata.namespace ?? '',
  name: metadata.name ?? '',
});

/** Returns the path of the cluster, or of something below it. */
export const locationOf = (region: string, { namespace, name }: ObjectKey, below = ''): string =>
  `/api/v1/region/${encodeURIComponent(region)}/cluster/${name}${below}?namespace=${namespace}`;

/** Answers an accepted request. */
export function answerAccepted(
  reply: FastifyReply,
  headers: IncomingHttpHeaders,
  { region, ...key }: ObjectKey & { region: string },
  requestId: string | undefined,
  isNew = true,
): z.infer<typeof askedSchema> {
  const cluster = locationOf(region, key);
  const operation = requestId === undefined ? cluster : locationOf(region, key, `/operations/${requestId}`);
  accepted(reply, headers, { cluster, operation });
  if (isNew) reply.request.acceptedAs = requestId;
  return { ...ok(), requestId };
}

/** Returns the cluster of that name in that region. Throws HttpError 404. */
export async function clusterIn(client: Client, region: string, key: ObjectKey): Promise<KubernetesCluster> {
  const cluster = await client.find<KubernetesCluster>(KUBERNETES_CLUSTERS, key);
  if (!cluster || regionOf(cluster) !== region) {
    throw notFound(`there is no cluster "${key.name}" in namespace "${key.namespace}", region "${region}"`);
  }
  return cluster;
}

/** Returns the name of the user who requested an operation, as part of a sentence. */
export const byWhom = (user: string | undefined): string => (user === undefined ? '' : ` by ${user}`);

/** Returns why no operation can start now: one runs or waits. With `again`, only a running one counts. */
function busyReason(cluster: KubernetesCluster, again: boolean): string | undefined {
  const { metadata, status } = cluster;
  if (metadata.deletionTimestamp) return 'is being deleted';
  const running = status?.operation;
  if (running && running.result === undefined)
    return `is busy: ${running.word}${byWhom(running.requestedBy)}`;
  const word = metadata.annotations?.[annotations.operation];
  // A dry run does not block: a request for the operation itself replaces it.
  if (again || !operationAsked(word) || isDryRun(cluster)) return undefined;
  // Status shows an end a moment before the operation annotation does.
  const hasEnded =
    running?.word === word && running?.requestId === metadata.annotations?.[annotations.requestId];
  return hasEnded
    ? `is busy: ${word} has ended, and its result is being written; ask again in a moment`
    : `is busy: ${word} was asked${byWhom(metadata.annotations?.[annotations.requestedBy])} and did not start yet`;
}

/** Throws HttpError 409 while an operation runs or waits. */
export function refuseBusy(cluster: KubernetesCluster, again: boolean): void {
  const reason = busyReason(cluster, again);
  if (reason !== undefined) throw conflict(`cluster "${cluster.metadata.name}" ${reason}`, 'cluster-busy');
}

/** Returns the same reason as a refusal of a plan. */
export function busyRefusals(cluster: KubernetesCluster, again: boolean): Problem[] {
  const reason = busyReason(cluster, again);
  return reason === undefined ? [] : [{ field: 'name', value: cluster.metadata.name, reason }];
}

export const requestIdOf = ({ metadata }: KubernetesCluster): string | undefined =>
  metadata.annotations?.[annotations.requestId];

/** Returns the annotations of a user's request: a new one, or the repetition of one with a key. */
export const requestBy = (person: User, requestId: string = randomUUID()): Record<string, string> => ({
  [annotations.requestId]: requestId,
  [annotations.requestedBy]: person.username,
});

/** The changes of a request: the operation annotation, and parts of `spec.cluster` and `spec.addons`. */
export interface Asked {
  word: string;
  person: User;
  change?: Partial<ClusterSpec> | undefined;
  addons?: Spec['addons'];
  /** Annotations that say more about the request; null removes one. */
  annotations?: Readonly<Record<string, string | null>> | undefined;
  /** Hash of the approved plan. */
  plan?: string | undefined;
  /** Request-id that follows from the key of the request; a new one if it has no key. */
  requestId?: string | undefined;
  /** Writes what the request needs beside the object; returns a function that reverts it if the request is refused. */
  prepare?: (() => Promise<() => Promise<void>>) | undefined;
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the JSON merge patch (RFC 7386) by which the given fields of an object become exactly what they are here. */
function replacing(present: object, fields: object): Record<string, unknown> {
  const before = new Map<string, unknown>(Object.entries(present));
  const whole = (from: unknown, to: unknown): unknown => {
    if (!isMap(from) || !isMap(to)) return to;
    const gone = Object.keys(from).filter((key) => to[key] === undefined);
    return {
      ...Object.fromEntries(gone.map((key) => [key, null])),
      ...Object.fromEntries(Object.entries(to).map(([key, value]) => [key, whole(from[key], value)])),
    };
  };
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [key, whole(before.get(key), value)]),
  );
}

/** Writes operation annotation, new request-id and spec changes in one patch of this very object. */
export function ask(
  client: Client,
  cluster: KubernetesCluster,
  { word, person, change, addons, annotations: more, plan, requestId }: Asked,
  { resourceVersion, dryRun }: { resourceVersion?: string | undefined; dryRun?: boolean } = {},
): Promise<KubernetesCluster> {
  const { uid } = cluster.metadata;
  const patch = {
    metadata: {
      uid,
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      // A REST request for the operation itself ends an earlier dry run, and the plan hash of an earlier request does not
      // apply.
      annotations: {
        ...more,
        ...requestBy(person, requestId),
        [annotations.operation]: word,
        [annotations.dryRun]: null,
        [annotations.plan]: plan ?? null,
      },
    },
    spec: {
      ...(change === undefined ? {} : { cluster: replacing(cluster.spec.cluster, change) }),
      ...(addons === undefined ? {} : { addons: replacing(cluster.spec.addons ?? {}, addons) }),
    },
  };
  return client.patch(KUBERNETES_CLUSTERS, keyOf(cluster), patch, { type: 'merge', dryRun });
}

const TRIES = 5;

/**
 * Validates the present cluster, then writes the request. If the object changed in between, the write fails and both steps
 * are repeated: the controller writes status at any moment, which is no reason to refuse. `judge` returns undefined if the
 * cluster has had the request. Returns the request-id.
 */
export async function judgeAndAsk(
  client: Client,
  find: () => Promise<KubernetesCluster>,
  judge: (cluster: KubernetesCluster) => Promise<Asked | undefined> | Asked | undefined,
): Promise<string | undefined> {
  for (let tried = 1; ; tried += 1) {
    const cluster = await find();
    const asked = await judge(cluster);
    if (!asked) return undefined;
    try {
      return requestIdOf(await prepareAndAsk(client, cluster, asked));
    } catch (error) {
      if (!isConflict(error) || tried >= TRIES) throw error;
    }
  }
}

/** Sends the request as a dry run first, so that a request that admission refuses has prepared nothing. */
async function prepareAndAsk(
  client: Client,
  cluster: KubernetesCluster,
  asked: Asked,
): Promise<KubernetesCluster> {
  const { resourceVersion } = cluster.metadata;
  if (asked.prepare) await ask(client, cluster, asked, { resourceVersion, dryRun: true });
  const undo = await asked.prepare?.();
  try {
    return await ask(client, cluster, asked, { resourceVersion });
  } catch (error) {
    // A write whose answer was lost may have been accepted: it needs what was prepared.
    if (!isUncertain(error)) await undo?.();
    throw error;
  }
}
