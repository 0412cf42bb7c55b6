import { CONFIG_MAPS, type ConfigMap, SECRETS, type Secret, secretData, secretText } from '#api/core.ts';
import { internalAnnotations, labels, logHeadName, reportSecretName } from '#api/names.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Report } from '#protocol/report.ts';
import type { Client } from '#runtime/client/client.ts';
import { isAlreadyExists } from '#runtime/wire/api-error.ts';
import type { JobCaller } from '../auth/job-caller.ts';
import { ownedBy } from '../logs/log-part.ts';

export type Kept = 'kept' | 'equal' | 'different';

/** Returns the stored report of the attempt, as canonical text. */
async function found(client: Client, namespace: string, { job }: JobCaller): Promise<string | undefined> {
  const name = reportSecretName(job);
  const text = secretText(await client.find<Secret>(SECRETS, { namespace, name }), 'report');
  return text === undefined ? undefined : canonicalJson(JSON.parse(text));
}

/** Compares a report with the stored one; undefined if there is none. */
export async function compareReport(
  client: Client,
  namespace: string,
  caller: JobCaller,
  report: Report,
): Promise<'equal' | 'different' | undefined> {
  const text = await found(client, namespace, caller);
  if (text === undefined) return undefined;
  return text === canonicalJson(report) ? 'equal' : 'different';
}

/** Stores the report of an attempt: the first wins, whichever replica it reached. */
export async function keepReport(
  client: Client,
  namespace: string,
  caller: JobCaller,
  report: Report,
): Promise<Kept> {
  const { job, clusterId, sequence, attempt, cluster } = caller;
  const head = await client.find<ConfigMap>(CONFIG_MAPS, { namespace, name: logHeadName(job) });
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
      annotations: { [internalAnnotations.cluster]: `${cluster.namespace}/${cluster.name}` },
      // A report may contain a kubeconfig: the garbage collector removes it with the log of its attempt.
      ...(head ? { ownerReferences: [ownedBy(head)] } : {}),
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
    return (await compareReport(client, namespace, caller, report)) ?? 'different';
  }
}
