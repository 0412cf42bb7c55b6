/** Calls the API server: verbs on objects as plain JSON, with deadlines and typed errors. */

import type { Readable } from 'node:stream';
import type { KubeList, KubeObject, ObjectKey, Resource } from '#api/meta.ts';
import { isNotFound } from '../wire/api-error.ts';
import {
  type ApiRequest,
  type Caller,
  type CallerOptions,
  type CallOptions,
  createCaller,
  type Method,
} from '../wire/call.ts';
import type { Endpoint } from '../wire/endpoint.ts';
import { apiVersionOf, type Query, resourcePath } from '../wire/resource-path.ts';
import { streamWatch, type WatchEvent } from '../wire/watch-stream.ts';
import type {
  ApplyOptions,
  DeleteOptions,
  ListOptions,
  PatchOptions,
  PatchType,
  WatchOptions,
  WriteOptions,
} from './client-options.ts';
import { expectList, expectObject, isKubeObject } from './expect-object.ts';

/** Result of a delete. */
export interface Deletion {
  /** Uid of the object; undefined if the server did not name it. */
  uid: string | undefined;
  /** Object in the server's answer: it still exists, held by finalizers or a grace period. Undefined if it is gone. */
  object: KubeObject | undefined;
}

/**
 * Client of a Kubernetes API server. Objects go in and out as plain JSON, so unknown fields survive. Every call rejects with
 * ApiError, or with the reason of its `signal`.
 */
export interface Client {
  get<T extends KubeObject>(resource: Resource, key: ObjectKey, options?: CallOptions): Promise<T>;
  /** Like `get`, with undefined if there is no object. */
  find<T extends KubeObject>(
    resource: Resource,
    key: ObjectKey,
    options?: CallOptions,
  ): Promise<T | undefined>;
  /** Lists one page; items carry apiVersion and kind, which the server leaves out. */
  list<T extends KubeObject>(resource: Resource, options?: ListOptions): Promise<KubeList<T>>;
  create<T extends KubeObject>(resource: Resource, object: T, options?: WriteOptions): Promise<T>;
  update<T extends KubeObject>(resource: Resource, object: T, options?: WriteOptions): Promise<T>;
  updateStatus<T extends KubeObject>(resource: Resource, object: T, options?: WriteOptions): Promise<T>;
  patch<T extends KubeObject>(
    resource: Resource,
    key: ObjectKey,
    patch: unknown,
    options: PatchOptions,
  ): Promise<T>;
  /** Performs a server-side apply. */
  apply<T extends KubeObject>(resource: Resource, object: KubeObject, options: ApplyOptions): Promise<T>;
  delete(resource: Resource, key: ObjectKey, options?: DeleteOptions): Promise<Deletion>;
  /** Sends a request to any other path: TokenReview, /version, a discovery document. */
  request(
    method: Method,
    path: string,
    body?: unknown,
    options?: CallOptions & { query?: Query },
  ): Promise<unknown>;
  /** Returns the body as a stream, for pod logs. `timeoutMs` bounds the headers, `signal` the whole. */
  stream(path: string, options?: CallOptions & { query?: Query }): Promise<Readable>;
  /**
   * Calls `onEvent` for each event, in order. Resolves when the server ends the watch; rejects upon anything else (an ERROR
   * event too, as its ApiError).
   */
  watch<T extends KubeObject>(
    resource: Resource,
    options: WatchOptions,
    onEvent: (event: WatchEvent<T>) => void,
  ): Promise<void>;
  close(): Promise<void>;
  /** Caller behind this client. */
  readonly caller: Caller;
}

/**
 * Creates a client for an endpoint.
 * @example
 * const client = createClient(await loadEndpoint({ kubeconfig }), { userAgent: 'sample/1.0' });
 * const pods = await client.list<Pod>(PODS, { namespace: 'default' });
 */
export function createClient(endpoint: Endpoint, options: CallerOptions): Client {
  return clientOver(createCaller(endpoint, options));
}

const PATCH_TYPES: Readonly<Record<PatchType, string>> = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
};

/** Creates a client over any caller, which may add a deadline, a guard, or faults. */
export function clientOver(caller: Caller): Client {
  const write = async <T extends KubeObject>(
    method: Method,
    path: string,
    body: unknown,
    { dryRun, fieldManager, signal, timeoutMs }: WriteOptions,
    more: Pick<ApiRequest, 'query' | 'contentType'> = {},
  ): Promise<T> => {
    const query = { ...more.query, fieldManager, dryRun: dryRun ? 'All' : undefined };
    return expectObject<T>(
      await caller.call({ method, path, body, ...more, query, signal, timeoutMs }),
      path,
    );
  };
  const put = <T extends KubeObject>(resource: Resource, object: T, options: WriteOptions): Promise<T> =>
    write('PUT', pathOf(resource, object, options.subresource), typed(resource, object), options);

  const client: Client = {
    async get<T extends KubeObject>(
      resource: Resource,
      key: ObjectKey,
      options: CallOptions = {},
    ): Promise<T> {
      const path = resourcePath(resource, key);
      return expectObject<T>(await caller.call({ method: 'GET', path, ...options }), path);
    },
    async find<T extends KubeObject>(resource: Resource, key: ObjectKey, options: CallOptions = {}) {
      try {
        return await client.get<T>(resource, key, options);
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    },
    async list<T extends KubeObject>(resource: Resource, options: ListOptions = {}) {
      const { namespace, signal, timeoutMs, ...query } = options;
      const path = resourcePath(resource, { namespace });
      const answer = await caller.call({ method: 'GET', path, query, signal, timeoutMs, list: true });
      return expectList<T>(answer, resource, path);
    },
    create(resource, object, options = {}) {
      const path = resourcePath(resource, {
        namespace: object.metadata.namespace,
        // A subresource (eviction, token) is created under the object's own path.
        ...(options.subresource === undefined
          ? {}
          : { name: object.metadata.name, subresource: options.subresource }),
      });
      return write('POST', path, typed(resource, object), options);
    },
    update: (resource, object, options = {}) => put(resource, object, options),
    updateStatus: (resource, object, options = {}) =>
      put(resource, object, { ...options, subresource: 'status' }),
    patch(resource, key, patch, options) {
      const path = resourcePath(resource, { ...key, subresource: options.subresource });
      return write('PATCH', path, patch, options, { contentType: PATCH_TYPES[options.type] });
    },
    apply(resource, object, options) {
      const body = typed(resource, object);
      // JSON is YAML, and every supported server accepts this content type.
      return write('PATCH', pathOf(resource, object, options.subresource), body, options, {
        contentType: 'application/apply-patch+yaml',
        query: { force: options.force },
      });
    },
    async delete(resource, key, { signal, timeoutMs, dryRun, ...options } = {}) {
      const body = {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        ...options,
        ...(dryRun ? { dryRun: ['All'] } : {}),
      };
      const path = resourcePath(resource, key);
      return deletionOf(await caller.call({ method: 'DELETE', path, body, signal, timeoutMs }));
    },
    request: (method, path, body, options = {}) => caller.call({ method, path, body, ...options }),
    stream: (path, options = {}) => caller.stream({ method: 'GET', path, ...options }),
    async watch<T extends KubeObject>(
      resource: Resource,
      options: WatchOptions,
      onEvent: (event: WatchEvent<T>) => void,
    ) {
      const { namespace, signal, timeoutMs, sendInitialEvents, ...rest } = options;
      const match = sendInitialEvents ? { sendInitialEvents, resourceVersionMatch: 'NotOlderThan' } : {};
      const path = resourcePath(resource, { namespace });
      const query = { watch: true, ...rest, ...match };
      const body = await caller.stream({ method: 'GET', path, query, signal, timeoutMs });
      try {
        await streamWatch<T>(body, path, onEvent);
      } catch (error) {
        signal?.throwIfAborted();
        throw error;
      }
    },
    close: () => caller.close(),
    caller,
  };
  return client;
}

/** Parses the answer to a DELETE: the object, or a Status whose details name the deleted object. */
function deletionOf(answer: unknown): Deletion {
  if (!isKubeObject(answer)) return { uid: undefined, object: undefined };
  if (answer.kind !== 'Status') return { uid: answer.metadata.uid, object: answer };
  const details = 'details' in answer ? answer.details : undefined;
  const uid = typeof details === 'object' && details !== null && 'uid' in details ? details.uid : undefined;
  return { uid: typeof uid === 'string' ? uid : undefined, object: undefined };
}

function pathOf(resource: Resource, object: KubeObject, subresource: string | undefined): string {
  return resourcePath(resource, {
    namespace: object.metadata.namespace,
    name: object.metadata.name ?? '',
    subresource,
  });
}

/** Returns the object with apiVersion and kind, which a server requires for custom kinds. */
const typed = (resource: Resource, object: KubeObject): KubeObject => ({
  ...object,
  apiVersion: apiVersionOf(resource),
  kind: resource.kind,
});
