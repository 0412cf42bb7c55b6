import type { KubeList, KubeObject, Resource } from '#api/meta.ts';
import { ApiError } from '../wire/api-error.ts';
import { apiVersionOf } from '../wire/resource-path.ts';

/** Whether a value has the metadata that all objects share. For the rest the server is trusted. */
export function isKubeObject<T extends KubeObject>(value: unknown): value is T {
  return (
    typeof value === 'object' &&
    value !== null &&
    'metadata' in value &&
    typeof value.metadata === 'object' &&
    value.metadata !== null
  );
}

/** Returns the answer as an object; throws ApiError Unknown upon anything else. */
export function expectObject<T extends KubeObject>(value: unknown, path: string): T {
  if (isKubeObject<T>(value)) return value;
  throw new ApiError('Unknown', `${path}: the answer is no Kubernetes object`, { status: 200 });
}

function isList<T>(value: unknown): value is KubeList<T> & { items: T[] | null } {
  return isKubeObject(value) && 'items' in value && (value.items === null || Array.isArray(value.items));
}

/** Returns the answer as a list whose items have apiVersion and kind; throws ApiError Unknown upon anything else. */
export function expectList<T extends KubeObject>(
  value: unknown,
  resource: Resource,
  path: string,
): KubeList<T> {
  if (!isList<T>(value)) throw new ApiError('Unknown', `${path}: the answer is no list`, { status: 200 });
  const apiVersion = apiVersionOf(resource);
  // Go may encode an empty list as null.
  value.items ??= [];
  for (const item of value.items) {
    item.apiVersion ??= apiVersion;
    item.kind ??= resource.kind;
  }
  return value;
}
