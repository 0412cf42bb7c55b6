import { z } from 'zod';
import { type HostEntry, hostSchema, LISTS, type ListName } from '#api/host.ts';
import type { ClusterSpec, Spec } from '#api/kubernetes-cluster.ts';
import type { Problem } from '#base/errors.ts';
import { laidOver } from './merge-host-lists.ts';

/** The situation of a request: the object's spec, and the spec that is applied to the cluster. */
export interface Present {
  spec: Spec;
  applied: Spec | undefined;
}

/** The result of a request: the new `spec.cluster`, and problems that only a request can have. */
export interface Edit {
  change: Partial<ClusterSpec>;
  /** Changes of `spec.addons`. */
  addons?: Spec['addons'];
  /** Annotations that say more about the request; null removes one. */
  annotations?: Readonly<Record<string, string | null>>;
  problems: Problem[];
}

/** The request of an operation over REST: `POST …/{route}`. Route, handler and OpenAPI document are generated from it. */
export interface EditRequest<S extends z.ZodRawShape = z.ZodRawShape> {
  route: string;
  description: string;
  /** Fields of the body, besides the common fields. */
  fields: S;
  /** Names in the body of fields of the object, for refusals. */
  names?: Readonly<Record<string, string>>;
  /** An example of a valid body. */
  example: Readonly<Record<string, unknown>>;
  /** Returns the edit of a validated body; each list names a host once. */
  edit(present: Present, body: unknown): Edit;
}

interface Typed<S extends z.ZodRawShape> extends Omit<EditRequest<S>, 'edit'> {
  edit(present: Present, body: z.output<z.ZodObject<S>>): Edit;
}

/** Returns the request with a body type that follows from its fields. */
export const editRequest = <S extends z.ZodRawShape>(it: Typed<S>): EditRequest<S> => {
  const schema = z.object(it.fields);
  return { ...it, edit: (present, body) => it.edit(present, schema.parse(body)) };
};

/** Returns the schema of a host list in a body; a cluster has at most a thousand hosts. */
export const hostList = (description: string) =>
  z.array(hostSchema).max(1000).optional().meta({ description });

export const retryField = z
  .boolean()
  .optional()
  .meta({ description: 'Asks again for what failed; what the body leaves out stays as it is.' });

/** Returns the edit of a request that takes whole lists of hosts; without retry, at least one list is required. */
export function editOfLists(
  { spec, applied }: Present,
  given: Partial<Record<ListName, HostEntry[] | undefined>>,
  retry: boolean | undefined,
): Edit {
  const change = Object.fromEntries(
    LISTS.flatMap((list) => {
      const hosts = given[list];
      return hosts ? [[list, laidOver(spec.cluster[list] ?? applied?.cluster[list], hosts)]] : [];
    }),
  );
  const missing = Object.keys(change).length === 0 && !retry;
  return { change, problems: missing ? [required('nodeList')] : [] };
}

export const required = (list: ListName): Problem => ({
  field: `spec.cluster.${list}`,
  reason: 'is required',
});

export const hostsIn = (spec: Spec | undefined, list: ListName): readonly HostEntry[] =>
  spec?.cluster[list] ?? [];
