import { z } from 'zod';
import { DNS_LABEL, hostSchema } from '#api/host.ts';
import { MAX_NAME, regionSchema } from '#api/kubernetes-cluster.ts';

const LABEL_ERROR = 'is not a DNS label; use lower-case letters, digits and "-"';

const nameSchema = z
  .string()
  .max(MAX_NAME, { error: `is longer than ${MAX_NAME} characters` })
  .regex(DNS_LABEL, { error: LABEL_ERROR })
  .meta({ description: 'Name of the cluster; a DNS label.' });
export const namespaceSchema = z
  .string()
  .max(63)
  .regex(DNS_LABEL, { error: LABEL_ERROR })
  .meta({ description: 'Namespace of the cluster; default: "default".' });

/** `/region/{region}/cluster/{name}` */
export const CLUSTER_PATH = '/region/{region}/cluster/{name}';
export const clusterPath = z.object({
  region: regionSchema.meta({ description: 'Region of the cluster; "default" for one without.' }),
  name: nameSchema,
});
/** The query of the original's routes, which ignore what they do not know. */
export const namespaceQuery = z.object({ namespace: namespaceSchema.optional() });
/** The query of routes that ask for something. */
export const askingQuery = namespaceQuery.extend({
  dryRun: z
    .enum(['All'], { error: 'is not a kind of dry run; write dryRun=All' })
    .optional()
    .meta({ description: '"All": answers the plan, and writes nothing.' }),
});
/** The query of our own routes, which refuse it. */
export const strictNamespaceQuery = z.strictObject({ namespace: namespaceSchema.default('default') });

/** The same of our own routes. */
export const strictAskingQuery = z.strictObject(askingQuery.shape);

/** Fields of the path that every body of the original may repeat. */
export const addressed = {
  name: nameSchema.optional().meta({ description: 'Must equal that of the path.' }),
  namespace: namespaceSchema.optional().meta({ description: 'Default: that of the query, else "default".' }),
  region: regionSchema.optional().meta({ description: 'Must equal that of the path.' }),
};

/** The hash of a plan, in the body of every request for an operation. */
export const agreedPlan = {
  plan: z
    .string()
    .regex(/^[0-9a-f]{64}$/, { error: 'is not the hash of a plan; a dry run answers it' })
    .optional()
    .meta({
      description: 'Hash of the plan that is agreed to, as a dry run answers it; 409 if it is another.',
    }),
};

export const hostsSchema = z.array(hostSchema).max(1000);
/** The schema of a route without a body. */
export const NO_BODY = z.undefined();
export const takesBody = (schema: z.ZodType): boolean => schema !== NO_BODY;
