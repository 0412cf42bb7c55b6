import type { IncomingHttpHeaders } from 'node:http';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { HttpError } from './errors.ts';

/** The entity tag of a cluster: its resourceVersion, which the API server never uses twice. */
export const entityTagOf = ({ metadata }: KubernetesCluster): string => `"${metadata.resourceVersion ?? ''}"`;

/**
 * Throws HttpError 412 if the request names versions of the cluster and it has another (RFC 9110, section 13.1.1). A
 * weak tag never matches.
 */
export function refuseOtherVersion(
  { 'if-match': wanted }: IncomingHttpHeaders,
  cluster: KubernetesCluster | undefined,
): void {
  if (wanted === undefined) return;
  const tags = wanted.split(',').map((tag) => tag.trim());
  if (cluster && (tags.includes('*') || tags.includes(entityTagOf(cluster)))) return;
  throw new HttpError(
    412,
    cluster
      ? `the cluster has another version, ${entityTagOf(cluster)}; look at it, then try again`
      : 'there is no cluster of that name, which If-Match asks for; leave it out to make one',
  );
}
