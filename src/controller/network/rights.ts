import type { KubeObject } from '#api/meta.ts';
import { NETWORKS } from '#api/network.ts';
import type { JsonSchema } from '#api/structural-schema.ts';

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

/**
 * Whoever has the controller use a Secret must be allowed to get that very Secret (docs/contract.md, Credentials and
 * access): when a Network with hosts is made, and at every change of its spec.
 */
const policy: KubeObject & JsonSchema = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name: NAME },
  spec: {
    failurePolicy: 'Fail',
    matchConstraints: {
      resourceRules: [
        {
          apiGroups: [NETWORKS.group],
          apiVersions: ['*'],
          operations: ['CREATE', 'UPDATE'],
          resources: [NETWORKS.plural],
        },
      ],
    },
    variables: [
      { name: 'secret', expression: secretIn('object') },
      {
        name: 'uses',
        expression:
          'has(object.spec.hosts) && object.spec.hosts.size() > 0 && (oldObject == null || object.spec != oldObject.spec)',
      },
    ],
    validations: [
      {
        expression:
          "!variables.uses || authorizer.group('').resource('secrets').namespace(object.metadata.namespace).name(variables.secret).check('get').allowed()",
        messageExpression:
          "'user \"' + request.userInfo.username + '\" may not get secrets \"' + variables.secret + '\" in namespace \"' + object.metadata.namespace + '\", with which spec.hosts are reached'",
        reason: 'Forbidden',
      },
    ],
  },
};

const binding: KubeObject & JsonSchema = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  metadata: { name: NAME },
  spec: { policyName: NAME, validationActions: ['Deny'] },
};

export const useOfSecrets = [policy, binding];
