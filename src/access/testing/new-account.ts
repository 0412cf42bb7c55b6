import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { eventually } from '#base/testing/eventually.ts';
import { SERVICE_ACCOUNTS } from '#lab/apiserver/kinds.ts';
import type { Client } from '#runtime/client/client.ts';
import type { Endpoint } from '#runtime/wire/endpoint.ts';
import { bindRole, clientWith, makeRole, ROLES, tokenOf } from './accounts.ts';

/** The permissions of an account in a namespace. */
export interface Rights {
  namespace: string;
  rules: readonly object[];
}

const rulesAnswer = z.object({ status: z.object({ resourceRules: z.array(z.unknown()) }) });

/** Whether the authorizer has loaded the role: that takes a moment, and happens for the whole role at once. */
async function hasTakenUp(client: Client, namespace: string): Promise<true | undefined> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectRulesReview',
    spec: { namespace },
  };
  const path = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
  const answer = rulesAnswer.parse(await client.request('POST', path, review));
  return JSON.stringify(answer.status.resourceRules).includes('ecs.yun.com') || undefined;
}

/** Returns a token of a new account in that namespace; it has exactly these permissions once the token is returned. */
export async function newAccount(
  admin: Client,
  endpoint: Endpoint,
  namespace: string,
  rights: readonly Rights[],
): Promise<string> {
  const name = `account-${randomUUID().slice(0, 8)}`;
  await admin.create(SERVICE_ACCOUNTS, { metadata: { namespace, name } });
  for (const given of rights) {
    const role = { namespace: given.namespace, name };
    await makeRole(admin, ROLES, role, given.rules);
    await bindRole(admin, role, { kind: 'Role', name }, { namespace, name });
  }
  const token = await tokenOf(admin, { namespace, name });
  const client = clientWith(endpoint, token);
  for (const given of rights)
    if (given.rules.length > 0) await eventually(() => hasTakenUp(client, given.namespace));
  await client.close();
  return token;
}
