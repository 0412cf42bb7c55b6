import { type Client, clientOver } from '#runtime/client/client.ts';
import type { ApiRequest, Caller } from '#runtime/wire/call.ts';

const CLUSTERS = '/apis/ecs.yun.com/v1/kubernetesclusters';

/** Rewrites the path of all clusters to that of one namespace; returns any other path unchanged. */
export const pathWithin = (namespace: string, path: string): string =>
  path === CLUSTERS
    ? CLUSTERS.replace('/kubernetesclusters', `/namespaces/${namespace}/kubernetesclusters`)
    : path;

/** Returns a client that sees the clusters of one namespace only: tests share an API server, and each has a controller. */
export function withinNamespace({ caller }: Client, namespace: string): Client {
  return changing(caller, (request) => ({ ...request, path: pathWithin(namespace, request.path) }));
}

/** Returns a client that sees the labelled clusters of all namespaces, for tests with several namespaces. */
export function withLabel(labelSelector: string, { caller }: Client): Client {
  return changing(caller, (request) =>
    request.path === CLUSTERS ? { ...request, query: { ...request.query, labelSelector } } : request,
  );
}

const changing = (caller: Caller, change: (request: ApiRequest) => ApiRequest): Client =>
  clientOver({
    call: (request) => caller.call(change(request)),
    stream: (request) => caller.stream(change(request)),
    close: () => caller.close(),
  });
