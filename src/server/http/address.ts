import type { z } from 'zod';
import type { ObjectKey } from '#api/meta.ts';
import type { Problem } from '#base/errors.ts';
import type { clusterPath, namespaceQuery } from '#rest/addressing.ts';
import { unprocessable } from './errors.ts';

interface Addressed {
  params: z.infer<typeof clusterPath>;
  query: z.infer<typeof namespaceQuery>;
  body?:
    | { name?: string | undefined; namespace?: string | undefined; region?: string | undefined }
    | undefined;
}

/** Returns the address of the cluster from path and body. Throws HttpError 422 if they differ. */
export function addressOf({ params, query, body = {} }: Addressed): ObjectKey & { region: string } {
  const problems: Problem[] = [];
  for (const field of ['name', 'region'] as const) {
    const value = body[field];
    if (value !== undefined && value !== params[field]) {
      problems.push({ field, value, reason: `differs from the path, which has "${params[field]}"` });
    }
  }
  if (problems.length > 0) throw unprocessable(problems);
  return { ...params, namespace: body.namespace ?? query.namespace ?? 'default' };
}
