import { z } from 'zod';
import { type Secret, secretText } from '#api/core.ts';
import type { Report } from '../installer.ts';

const hostOutcomeSchema = z.object({ ip: z.string(), ok: z.boolean(), message: z.string().optional() });

/** What ansibleinit leaves in its termination message: the report without what is secret or long. */
const verdictSchema = z.object({
  success: z.boolean(),
  reason: z.string().optional(),
  message: z.string(),
  hosts: z.array(hostOutcomeSchema),
});

const reportSchema = verdictSchema.extend({
  kubeconfig: z.string().optional(),
  knownHosts: z.string().optional(),
});

/** Drops keys whose value is undefined, which a report's type does not have. */
function exact(parsed: z.infer<typeof reportSchema>): Report {
  const { success, message, reason, kubeconfig, knownHosts } = parsed;
  return {
    success,
    message,
    hosts: parsed.hosts.map(({ ip, ok, message: text }) => ({
      ip,
      ok,
      ...(text === undefined ? {} : { message: text }),
    })),
    ...(reason === undefined ? {} : { reason }),
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(knownHosts === undefined ? {} : { knownHosts }),
  };
}

/** The report that the server kept in Secret `report-<job>`, under the key `report`. */
export function reportFrom(secret: Secret | undefined): Report | undefined {
  return parse(secretText(secret, 'report'));
}

/** The report that a termination message amounts to; undefined when it holds no verdict. */
export const verdictFrom = (terminationMessage: string | undefined): Report | undefined =>
  parse(terminationMessage);

function parse(text: string | undefined): Report | undefined {
  if (text === undefined || text === '') return undefined;
  try {
    return exact(reportSchema.parse(JSON.parse(text)));
  } catch {
    return undefined;
  }
}
