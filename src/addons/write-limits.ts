import type { KubeObject } from '#api/meta.ts';
import type { JsonSchema } from '#api/structural-schema.ts';

/** Narrows what an account may write of a kind, where RBAC cannot tell one write from another. */
export interface WriteLimit {
  apiGroup: string;
  /** Plural. */
  resource: string;
  operations: readonly ('CREATE' | 'UPDATE' | 'DELETE')[];
  /** CEL of `object` and `oldObject`; false: refused. */
  expression: string;
  /** Why it is refused, for people. */
  message: string;
}

const GROUP = 'admissionregistration.k8s.io';

/**
 * A limit as the API server holds to it: a ValidatingAdmissionPolicy and its binding
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

/** CEL: the object in `variable` belongs to one of that kind, as its controller has made it. */
export const isOwned = (variable: 'object' | 'oldObject', group: string, kind: string): string =>
  `${variable}.metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false) && o.kind == "${kind}" && o.apiVersion.startsWith("${group}/"))`;

/** CEL: nothing of an object is changed but its status, and one label. */
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
