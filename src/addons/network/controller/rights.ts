import type { KubeObject } from '#api/meta.ts';
import type { JsonSchema } from '#api/structural-schema.ts';
import { NETWORKS } from '../api.ts';

/** What is installed beside the account: who lets the controller read Secrets, and who may have it use one. */

const NAME = 'matryoshka-network';

/** Bound by an administrator in each namespace whose Networks are to be made; the controller reads no Secret elsewhere. */
export const servedNamespace: KubeObject & JsonSchema = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: `${NAME}-served-namespace` },
  rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }],
};

const secretIn = (object: string) =>
  `(has(${object}.spec.credentialsSecret) ? ${object}.spec.credentialsSecret : ${object}.metadata.name + '-ssh')`;
const hasHosts = 'has(object.spec.hosts) && object.spec.hosts.size() > 0';

/** A ValidatingAdmissionPolicy and what puts it in force, in every namespace. */
const policyOf = (
  name: string,
  operations: readonly ('CREATE' | 'UPDATE')[],
  resource: string,
  rules: object,
): (KubeObject & JsonSchema)[] => [
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: [NETWORKS.group],
            apiVersions: ['*'],
            operations: [...operations],
            resources: [resource],
          },
        ],
      },
      ...rules,
    },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  },
];

/**
 * Whoever has the controller use a Secret must be allowed to get that very Secret (docs/reference/credentials.md): when a Network with hosts is made, at every change of its spec while it has some, and whenever it is another
 * Secret, since hosts that are not named any more are cleaned with it.
 */
const useOfSecret = policyOf(NAME, ['CREATE', 'UPDATE'], NETWORKS.plural, {
  variables: [
    { name: 'secret', expression: secretIn('object') },
    {
      name: 'uses',
      expression: `oldObject == null ? ${hasHosts} : object.spec != oldObject.spec && (${hasHosts} || variables.secret != ${secretIn('oldObject')})`,
    },
  ],
  validations: [
    {
      expression:
        "!variables.uses || authorizer.group('').resource('secrets').namespace(object.metadata.namespace).name(variables.secret).check('get').allowed()",
      messageExpression:
        "'user \"' + request.userInfo.username + '\" may not get secrets \"' + variables.secret + '\" in namespace \"' + object.metadata.namespace + '\", with which its hosts are reached'",
      reason: 'Forbidden',
    },
  ],
});

/** Status says where the controller goes to clean, and by which host key: nobody else's word is taken for it. */
const writeOfStatus = policyOf(`${NAME}-status`, ['UPDATE'], `${NETWORKS.plural}/status`, {
  validations: [
    {
      expression: `request.userInfo.username == 'system:serviceaccount:${NAME}:${NAME}'`,
      message:
        'only the controller of Networks writes their status, by which it goes to hosts with their Secrets',
      reason: 'Forbidden',
    },
  ],
});

export const admission = [...useOfSecret, ...writeOfStatus];
