import type { Resource } from '#api/meta.ts';

export interface PathParts {
  /** Empty or absent for cluster-scoped kinds, and for lists across namespaces. */
  namespace?: string | undefined;
  /** Absent for lists and creates. */
  name?: string | undefined;
  subresource?: string | undefined;
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/**
 * Returns a path such as `/apis/batch/v1/namespaces/ns/jobs/name/status`. Throws upon a name that would change the path
 * (client-go rest.IsValidPathSegmentName).
 */
export function resourcePath(resource: Resource, parts: PathParts): string {
  const root =
    resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const namespace = resource.namespaced && parts.namespace ? `/namespaces/${segment(parts.namespace)}` : '';
  if (resource.namespaced && namespace === '' && parts.name !== undefined) {
    throw new TypeError(`${resource.kind} ${parts.name}: a namespace is needed`);
  }
  const name = parts.name === undefined ? '' : `/${segment(parts.name)}`;
  const subresource = parts.subresource === undefined ? '' : `/${parts.subresource}`;
  return `${root}${namespace}/${resource.plural}${name}${subresource}`;
}

/** Returns `?a=1&b=2` without undefined and empty values; returns an empty text if no value is left. */
export function queryString(query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') search.set(name, String(value));
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

/** Returns `batch/v1`, or `v1` for the core group. */
export function apiVersionOf(resource: Resource): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

function segment(name: string): string {
  if (name === '' || name === '.' || name === '..' || /[/%]/.test(name)) {
    throw new TypeError(`'${name}' cannot be a name in a path`);
  }
  return encodeURIComponent(name);
}
