import { z } from 'zod';
import { cidrSchema } from '#api/cidr.ts';
import {
  type ClusterSpec,
  clusterTypeSchema,
  deployModeSchema,
  endpointSchema,
  registrySchema,
  timeoutSchema,
  versionSchema,
} from '#api/kubernetes-cluster.ts';
import type { ObjectKey } from '#api/meta.ts';
import { credentialsSecretName } from '#api/names.ts';
import type { Problem } from '#base/errors.ts';
import { addressed, hostsSchema, retrySchema } from './bodies.ts';
import { unprocessable } from './errors.ts';
import { mergeLists } from './hosts.ts';
import { readPrivateKey } from './ssh-key.ts';

export const createBody = z
  .object({
    ...addressed,
    timeoutMins: timeoutSchema.optional(),
    clusterType: clusterTypeSchema.optional(),
    deployMode: deployModeSchema.optional(),
    podCIDR: cidrSchema.optional(),
    serviceCIDR: cidrSchema.optional(),
    masterList: hostsSchema.optional(),
    nodeList: hostsSchema.optional(),
    etcdList: hostsSchema.optional(),
    externalLoadBalancer: endpointSchema.optional(),
    kubeVersion: versionSchema.optional(),
    imagesRegistry: registrySchema.optional(),
    privateSSHKey: z
      .string()
      .max(32_768)
      .optional()
      .meta({ description: 'PEM, or base64 of PEM; without a passphrase. It becomes a Secret.' }),
    credentialsSecret: z
      .string()
      .max(253)
      .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, { error: 'is no name of a Secret' })
      .optional()
      .meta({ description: 'A Secret that you may read, instead of privateSSHKey.' }),
    retry: retrySchema,
  })
  .meta({ id: 'CreateCluster' });
export type CreateBody = z.infer<typeof createBody>;

/** The fields of `spec.cluster` that a body says; what it leaves out is not there. */
function clusterFrom(body: CreateBody, lists: Partial<ClusterSpec>): Partial<ClusterSpec> {
  const { timeoutMins, privateSSHKey, retry, name, namespace, region, ...rest } = body;
  const said = { ...rest, ...lists, timeout_mins: timeoutMins };
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined));
}

/** A creation as it is wanted: what the body says, in the object's spelling. */
export interface Wanted extends ObjectKey {
  region: string;
  change: Partial<ClusterSpec>;
  privateKey: string | undefined;
  placed(problem: Problem): Problem;
}

/** What a body asks for, or HttpError 422 with everything that is wrong with it in itself. */
export function wantedBy(body: CreateBody, address: ObjectKey & { region: string }): Wanted {
  const { lists, problems, placed } = mergeLists(body);
  const key = body.privateSSHKey === undefined ? undefined : readPrivateKey(body.privateSSHKey);
  if (key && 'reason' in key) problems.push({ field: 'privateSSHKey', reason: key.reason });
  if (key && body.credentialsSecret !== undefined) {
    problems.push({ field: 'credentialsSecret', reason: 'stands beside privateSSHKey; give one of them' });
  }
  if (!key && body.credentialsSecret === undefined && !body.retry) {
    problems.push({ field: 'privateSSHKey', reason: 'is needed, or credentialsSecret' });
  }
  if (problems.length > 0) throw unprocessable(problems);
  const change = clusterFrom(body, lists);
  if (key) change.credentialsSecret = credentialsSecretName(address.name);
  return { ...address, change, placed, privateKey: key && 'pem' in key ? key.pem : undefined };
}
