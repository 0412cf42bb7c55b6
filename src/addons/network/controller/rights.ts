import type { KubeObject } from '#api/meta.ts';
import type { JsonSchema } from '#api/structural-schema.ts';
import { NETWORKS } from '../api.ts';

/** Objects that are installed besides the account: they say which Secrets the controller reads, and who may use a Secret. */

const NAME = 'matryoshka-network';

/** ClusterRole that an administrator binds in each served namespace. The controller reads no Secret elsewhere. */
export const servedNamespace: KubeObject & JsonSchema = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: `${NAME}-served-namespace` },
  rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }],
};

const secretIn = (object: string) =>
  `(has(${object}.spec.credentialsSecret) ? ${object}.spec.credentialsSecret : ${object}.metadata.name + '-ssh')`;
const hasHosts = 'has(object.spec.hosts) && object.spec.hosts.size() > 0';

/** Builds a ValidatingAdmissionPolicy and its binding for all namespaces. */
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
 * Requires that a user who lets the controller use a Secret may get that Secret (docs/reference/credentials.md). It applies
 * when a Network with hosts is created, and at every change of its spec while it has some. It also applies whenever the
 * Secret changes, because hosts that the spec no longer names are cleaned with the Secret.
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

/** Lets only the controller write status, because status says which hosts are cleaned, and with which host key. */
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
