import type { ClusterSpec } from '#api/kubernetes-cluster.ts';
import type { ObjectKey } from '#api/meta.ts';
import { credentialsSecretName } from '#api/names.ts';
import { readPrivateKey } from '#api/ssh-key.ts';
import type { Problem } from '#base/errors.ts';
import { mergeLists } from '#operations/merge-host-lists.ts';
import type { CreateBody } from '#rest/asking.ts';
import { unprocessable } from '../http/errors.ts';

/** Returns the fields of `spec.cluster` that a body sets; the others are absent. */
function clusterFrom(body: CreateBody, lists: Partial<ClusterSpec>): Partial<ClusterSpec> {
  const { timeoutMins, privateSSHKey, retry, plan, name, namespace, region, ...rest } = body;
  const said = { ...rest, ...lists, timeout_mins: timeoutMins };
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined));
}

/** A creation as the body requests it, with the object's field names. */
export interface Wanted extends ObjectKey {
  region: string;
  change: Partial<ClusterSpec>;
  privateKey: string | undefined;
  /** Hash of the approved plan. */
  plan: string | undefined;
  placed(problem: Problem): Problem;
}

/** Parses the body of a creation. Throws HttpError 422 with all problems of the body itself. */
export function wantedBy(body: CreateBody, address: ObjectKey & { region: string }): Wanted {
  const { lists, problems, placed } = mergeLists(body);
  const key = body.privateSSHKey === undefined ? undefined : readPrivateKey(body.privateSSHKey);
  if (key && 'reason' in key) problems.push({ field: 'privateSSHKey', reason: key.reason });
  if (key && body.credentialsSecret !== undefined) {
    problems.push({
      field: 'credentialsSecret',
      reason: 'cannot be given with privateSSHKey; choose one of them',
    });
  }
  if (!key && body.credentialsSecret === undefined && !body.retry) {
    problems.push({ field: 'privateSSHKey', reason: 'is required, or credentialsSecret' });
  }
  if (!body.retry && (lists.masterList ?? []).length === 0) {
    problems.push({ field: 'masterList', reason: 'is required; name 1, 3 or 5 control plane hosts' });
  }
  if (problems.length > 0) throw unprocessable(problems);
  const change = clusterFrom(body, lists);
  if (key) change.credentialsSecret = credentialsSecretName(address.name);
  return {
    ...address,
    change,
    placed,
    plan: body.plan,
    privateKey: key && 'pem' in key ? key.pem : undefined,
  };
}
