import { z } from 'zod';
import { DNS_LABEL, hostSchema } from '#api/host.ts';
import { MAX_NAME, regionSchema } from '#api/kubernetes-cluster.ts';
import type { ObjectKey } from '#api/meta.ts';
import type { Problem } from '#base/errors.ts';
import { unprocessable } from './errors.ts';

const LABEL_ERROR = 'is no DNS label; use lower-case letters, digits and "-"';

const nameSchema = z
  .string()
  .max(MAX_NAME, { error: `is longer than ${MAX_NAME} characters` })
  .regex(DNS_LABEL, { error: LABEL_ERROR });
export const namespaceSchema = z.string().max(63).regex(DNS_LABEL, { error: LABEL_ERROR });

/** `/region/{region}/cluster/{name}` */
export const clusterPath = z.object({ region: regionSchema, name: nameSchema });
export const namespaceQuery = z.object({ namespace: namespaceSchema.optional() });

/** What every body of the original may repeat of its path. */
export const addressed = {
  name: nameSchema.optional(),
  namespace: namespaceSchema.optional().meta({ description: 'Default: that of the query, else "default".' }),
  region: regionSchema.optional().meta({ description: 'Default: that of the path, which it must equal.' }),
};

export const hostsSchema = z.array(hostSchema).max(1000);

export const retrySchema = z
  .boolean()
  .optional()
  .meta({ description: 'Asks again for what failed; what the body leaves out stays as it is.' });

/** The answer of the original's routes to success. */
export const okSchema = z.object({ code: z.literal('OK'), message: z.string() });
export const ok = (message = 'success'): z.infer<typeof okSchema> => ({ code: 'OK', message });

export const errorSchema = z
  .object({
    code: z.string().meta({ description: 'The text of the HTTP status.' }),
    message: z.string(),
    errors: z
      .array(z.object({ field: z.string(), value: z.unknown().optional(), reason: z.string() }))
      .optional(),
  })
  .meta({ description: 'Refused' });

interface Addressed {
  params: z.infer<typeof clusterPath>;
  query: z.infer<typeof namespaceQuery>;
  body?: { name?: string | undefined; namespace?: string | undefined; region?: string | undefined };
}

/** Which cluster a request is about. Throws HttpError 422 when body and path differ. */
export function addressOf({ params, query, body = {} }: Addressed): ObjectKey & { region: string } {
  const problems: Problem[] = [];
  for (const field of ['name', 'region'] as const) {
    const value = body[field];
    if (value !== undefined && value !== params[field]) {
      problems.push({ field, value, reason: `is not that of the path, "${params[field]}"` });
    }
  }
  if (problems.length > 0) throw unprocessable(problems);
  return { ...params, namespace: body.namespace ?? query.namespace ?? 'default' };
}
