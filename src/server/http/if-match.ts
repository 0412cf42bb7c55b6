import type { IncomingHttpHeaders } from 'node:http';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { HttpError } from './errors.ts';

/** Returns the entity tag of a cluster: its resourceVersion, which the API server never uses twice. */
export const entityTagOf = ({ metadata }: KubernetesCluster): string => `"${metadata.resourceVersion ?? ''}"`;

const tagsOf = (wanted: string): string[] => wanted.split(',').map((tag) => tag.trim());

/**
 * Throws HttpError 412 if the request names versions of the cluster and it has another (RFC 9110, section 13.1.1). A
 * weak tag never matches.
 */
export function refuseOtherVersion(
  { 'if-match': wanted }: IncomingHttpHeaders,
  cluster: KubernetesCluster | undefined,
): void {
  if (wanted === undefined) return;
  const tags = tagsOf(wanted);
  if (cluster && (tags.includes('*') || tags.includes(entityTagOf(cluster)))) return;
  throw new HttpError(
    412,
    cluster
      ? `the cluster has another version, ${entityTagOf(cluster)}; read it, then try again`
      : 'there is no cluster of that name, which If-Match asks for; leave it out to make one',
  );
}

/**
 * Returns the version that a write must find, so that it overrides no edit since the check; undefined if any is accepted.
 */
export function versionToWrite(
  { 'if-match': wanted }: IncomingHttpHeaders,
  { metadata }: KubernetesCluster,
): string | undefined {
  return wanted === undefined || tagsOf(wanted).includes('*') ? undefined : metadata.resourceVersion;
}

/** Returns the answer to a write that did not find the version in If-Match. */
export const changedMeanwhile = (): HttpError =>
  new HttpError(412, 'the cluster has another version since a moment; read it, then try again');
