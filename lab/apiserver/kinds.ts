import type { Resource } from '#api/meta.ts';

/** Kinds that tests and benchmarks create on a bare API server, and that the product never names. */
export const NAMESPACES: Resource = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
};

export const CUSTOM_RESOURCE_DEFINITIONS: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};

export const SERVICE_ACCOUNTS: Resource = {
  group: '',
  version: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
};
