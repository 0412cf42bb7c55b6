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
  const within = (request: ApiRequest) => ({ ...request, path: pathWithin(namespace, request.path) });
  const inner: Caller = {
    call: (request) => caller.call(within(request)),
    stream: (request) => caller.stream(within(request)),
    close: () => caller.close(),
  };
  return clientOver(inner);
}
