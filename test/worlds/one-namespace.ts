import { type Client, clientOver } from '#runtime/client/client.ts';
import type { ApiRequest, Caller } from '#runtime/wire/call.ts';

const CLUSTERS = '/apis/ecs.yun.com/v1/kubernetesclusters';

/** The path of all clusters, as that of the clusters of one namespace; any other path as it is. */
export const pathWithin = (namespace: string, path: string): string =>
  path === CLUSTERS
    ? CLUSTERS.replace('/kubernetesclusters', `/namespaces/${namespace}/kubernetesclusters`)
    : path;

/** A client that sees the clusters of one namespace alone: tests share an API server, each has a controller. */
export function withinNamespace({ caller }: Client, namespace: string): Client {
  return changing(caller, (request) => ({ ...request, path: pathWithin(namespace, request.path) }));
}

/** A client that sees the clusters of all namespaces that have a label, for tests of more than one namespace. */
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
