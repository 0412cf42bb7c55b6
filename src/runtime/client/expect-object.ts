import type { KubeList, KubeObject, Resource } from '#api/meta.ts';
import { ApiError } from '../wire/api-error.ts';
import { apiVersionOf } from '../wire/resource-path.ts';

/** Whether a value has the one thing that all objects share. The rest is the server's word for it. */
export function isKubeObject<T extends KubeObject>(value: unknown): value is T {
  return (
    typeof value === 'object' &&
    value !== null &&
    'metadata' in value &&
    typeof value.metadata === 'object' &&
    value.metadata !== null
  );
}

/** The answer as an object; throws ApiError Unknown on anything else. */
export function expectObject<T extends KubeObject>(value: unknown, path: string): T {
  if (isKubeObject<T>(value)) return value;
  throw new ApiError('Unknown', `${path}: the answer is no Kubernetes object`, { status: 200 });
}

function isList<T>(value: unknown): value is KubeList<T> & { items: T[] | null } {
  return isKubeObject(value) && 'items' in value && (value.items === null || Array.isArray(value.items));
}

/** The same for a list, its items given their apiVersion and kind. */
export function expectList<T extends KubeObject>(
  value: unknown,
  resource: Resource,
  path: string,
): KubeList<T> {
  if (!isList<T>(value)) throw new ApiError('Unknown', `${path}: the answer is no list`, { status: 200 });
  const apiVersion = apiVersionOf(resource);
  // An empty list of Go's may come as null.
  value.items ??= [];
  for (const item of value.items) {
    item.apiVersion ??= apiVersion;
    item.kind ??= resource.kind;
  }
  return value;
}
