import { z } from 'zod';
import { DNS_LABEL, hostSchema } from '#api/host.ts';
import { MAX_NAME, regionSchema } from '#api/kubernetes-cluster.ts';

const LABEL_ERROR = 'is not a DNS label; use lower-case letters, digits and "-"';

export const nameSchema = z
  .string()
  .max(MAX_NAME, { error: `is longer than ${MAX_NAME} characters` })
  .regex(DNS_LABEL, { error: LABEL_ERROR })
  .meta({ description: 'Name of the cluster; a DNS label.' });
export const namespaceSchema = z
  .string()
  .max(63)
  .regex(DNS_LABEL, { error: LABEL_ERROR })
  .meta({ description: 'Namespace of the cluster; default: "default".' });

/** Path of a cluster: `/region/{region}/cluster/{name}`. */
export const CLUSTER_PATH = '/region/{region}/cluster/{name}';
export const clusterPath = z.object({
  region: regionSchema.meta({ description: 'Region of the cluster; "default" for one without.' }),
  name: nameSchema,
});
/** Query of the kubernetes-operator routes, which ignore unknown fields. */
export const namespaceQuery = z.object({ namespace: namespaceSchema.optional() });
/** Query of routes that request a change. */
export const askingQuery = namespaceQuery.extend({
  dryRun: z
    .enum(['All'], { error: 'is not a kind of dry run; write dryRun=All' })
    .optional()
    .meta({ description: '"All": answers the plan, and writes nothing.' }),
});
/** Query of our own routes, which reject unknown fields. */
export const strictNamespaceQuery = z.strictObject({ namespace: namespaceSchema.default('default') });

/** Query of our own routes that request a change; they reject unknown fields. */
export const strictAskingQuery = z.strictObject(askingQuery.shape);

/** Fields of the path that every body of a kubernetes-operator route may repeat. */
export const addressed = {
  name: nameSchema.optional().meta({ description: 'Must equal that of the path.' }),
  namespace: namespaceSchema.optional().meta({ description: 'Default: that of the query, else "default".' }),
  region: regionSchema.optional().meta({ description: 'Must equal that of the path.' }),
};

/** Plan hash, in the body of every request for an operation. */
export const agreedPlan = {
  plan: z
    .string()
    .regex(/^[0-9a-f]{64}$/, { error: 'is not the hash of a plan; a dry run answers it' })
    .optional()
    .meta({
      description: 'Hash of the plan that you approve, from a dry run. 409 if the plan has changed.',
    }),
};

export const hostsSchema = z.array(hostSchema).max(1000);
/** Schema of a route without a body. */
export const NO_BODY = z.undefined();
export const takesBody = (schema: z.ZodType): boolean => schema !== NO_BODY;
