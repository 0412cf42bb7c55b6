import type { KubeObject } from '#api/meta.ts';
import type { JsonSchema } from '#api/structural-schema.ts';

/** Restricts an account's writes of a kind beyond RBAC, which cannot distinguish these writes. */
export interface WriteLimit {
  apiGroup: string;
  /** Plural name of the kind. */
  resource: string;
  operations: readonly ('CREATE' | 'UPDATE' | 'DELETE')[];
  /** CEL over `object` and `oldObject`; false rejects the write. */
  expression: string;
  /** Reason of the refusal, for users. */
  message: string;
}

const GROUP = 'admissionregistration.k8s.io';

/**
 * Returns a limit as objects that the API server enforces: a ValidatingAdmissionPolicy and its binding
 * (https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/).
 */
export function policyOf(
  { apiGroup, resource, operations, expression, message }: WriteLimit,
  { name, namespace }: { name: string; namespace: string },
): (KubeObject & JsonSchema)[] {
  const metadata = { name: `${name}-${resource}` };
  const rule = {
    apiGroups: [apiGroup],
    apiVersions: ['*'],
    operations: [...operations],
    resources: [resource],
  };
  const account = `system:serviceaccount:${namespace}:${name}`;
  const policy = {
    failurePolicy: 'Fail',
    matchConstraints: { resourceRules: [rule] },
    matchConditions: [{ name: 'ours', expression: `request.userInfo.username == "${account}"` }],
    validations: [{ expression, message, reason: 'Forbidden' }],
  };
  const binding = { policyName: metadata.name, validationActions: ['Deny'] };
  const apiVersion = `${GROUP}/v1`;
  return [
    { apiVersion, kind: 'ValidatingAdmissionPolicy', metadata, spec: policy },
    { apiVersion, kind: 'ValidatingAdmissionPolicyBinding', metadata, spec: binding },
  ];
}

/** Returns CEL: the object in `variable` has a controlling owner of that kind. */
export const isOwned = (variable: 'object' | 'oldObject', group: string, kind: string): string =>
  `${variable}.metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false) && o.kind == "${kind}" && o.apiVersion.startsWith("${group}/"))`;

/** Returns CEL: an update changes nothing but the status, and one label. */
export function changesOnlyLabel(label: string): string {
  const of = (variable: string, field: string) => `${variable}.metadata.?${field}`;
  const same = ['annotations', 'finalizers', 'ownerReferences'].map(
    (field) => `${of('object', field)} == ${of('oldObject', field)}`,
  );
  const [is, was] = [of('object', 'labels'), of('oldObject', 'labels')].map((one) => `${one}.orValue({})`);
  const kept = (some: string | undefined, others: string | undefined) =>
    `${some}.all(k, k == "${label}" || (k in ${others} && ${some}[k] == ${others}[k]))`;
  return ['object.spec == oldObject.spec', ...same, kept(is, was), kept(was, is)].join(' && ');
}
