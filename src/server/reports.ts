import { z } from 'zod';
import { SECRETS, type Secret, secretData, secretText } from '#api/core.ts';
import { labels, marks, reportSecretName } from '#api/names.ts';
import { canonicalJson } from '#base/canonical.ts';
import { isAlreadyExists } from '#runtime/api-error.ts';
import type { Client } from '#runtime/client.ts';
import type { Speaker } from './attempts.ts';

const hostOutcome = z.object({
  ip: z.string().max(45),
  ok: z.boolean(),
  message: z.string().optional(),
});

/** Long texts are cut rather than refused: a report that is not taken helps nobody. */
const MAX_MESSAGE = 32_768;
const MAX_HOST_MESSAGE = 1000;

/** What a run says of itself at its end; the controller reads it from Secret `report-<job>`. */
export const reportFields = {
  success: z.boolean(),
  reason: z
    .string()
    .max(64)
    .optional()
    .meta({ description: 'Cause of a failure in CamelCase: HostUnreachable, PrecheckFailed, …' }),
  message: z.string().default(''),
  kubeconfig: z.string().max(262_144).optional(),
  knownHosts: z.string().max(524_288).optional(),
  hosts: z.array(hostOutcome).max(1000).default([]),
};
const reportSchema = z.object(reportFields);
export type Report = z.infer<typeof reportSchema>;

export type Kept = 'kept' | 'equal' | 'different';

/** The report that was kept for the attempt, as canonical text. */
async function found(client: Client, namespace: string, { job }: Speaker): Promise<string | undefined> {
  const name = reportSecretName(job);
  const text = secretText(await client.find<Secret>(SECRETS, { namespace, name }), 'report');
  return text === undefined ? undefined : canonicalJson(JSON.parse(text));
}

/** The report within a body, cut to what a Secret can hold. */
export function reportIn(body: Report): Report {
  const { success, reason, message, kubeconfig, knownHosts, hosts } = body;
  return {
    success,
    reason,
    message: message.slice(0, MAX_MESSAGE),
    kubeconfig,
    knownHosts,
    hosts: hosts.map(({ message: text, ...host }) => ({
      ...host,
      message: text?.slice(0, MAX_HOST_MESSAGE),
    })),
  };
}

/** How a report compares with what was kept; undefined when nothing was. */
export async function compareReport(
  client: Client,
  namespace: string,
  speaker: Speaker,
  report: Report,
): Promise<'equal' | 'different' | undefined> {
  const text = await found(client, namespace, speaker);
  if (text === undefined) return undefined;
  return text === canonicalJson(report) ? 'equal' : 'different';
}

/** Keeps the report of an attempt: the first wins, whichever replica it reached. */
export async function keepReport(
  client: Client,
  namespace: string,
  speaker: Speaker,
  report: Report,
): Promise<Kept> {
  const { job, clusterId, sequence, attempt, cluster } = speaker;
  const secret: Secret = {
    metadata: {
      namespace,
      name: reportSecretName(job),
      labels: {
        [labels.purpose]: 'report',
        [labels.clusterId]: clusterId,
        [labels.sequence]: String(sequence),
        [labels.attempt]: String(attempt),
      },
      annotations: { [marks.cluster]: `${cluster.namespace}/${cluster.name}` },
    },
    type: 'Opaque',
    immutable: true,
    data: secretData({ report: canonicalJson(report) }),
  };
  try {
    await client.create(SECRETS, secret);
    return 'kept';
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return (await compareReport(client, namespace, speaker, report)) ?? 'different';
  }
}
