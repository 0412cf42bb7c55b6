import type { ApiRequest } from '#runtime/wire/call.ts';

/** Ids are parts of a hash and differ between runs (base/canonical.ts defines their alphabet). */
const ID = /(^|[-=])[bcdfghjklmnpqrstvwxz2456789]{10,12}(?=$|-)/g;

/** Each plan has its own subnet; the last part of an address identifies the host. */
const NET = /\/hosts\/\d+\.\d+\.\d+\./;

const nameIn = (body: unknown): string =>
  typeof body === 'object' &&
  body !== null &&
  'metadata' in body &&
  typeof body.metadata === 'object' &&
  body.metadata !== null &&
  'name' in body.metadata &&
  typeof body.metadata.name === 'string'
    ? body.metadata.name
    : '';

/** Returns the namespace, resource, name and subresource of a path. */
export function partsOf(path: string) {
  const all = path.replace(/^\/apis?\/([^/]+\/)?v[^/]+\//, '');
  const { namespace = '' } = /^namespaces\/(?<namespace>[^/]+)\//.exec(all)?.groups ?? {};
  const [plural = '', name = '', subresource = ''] = all.replace(/^namespaces\/[^/]+\//, '').split('/');
  return { namespace, plural, name, subresource };
}

/**
 * Returns a name of a call that is the same in each run: `POST/jobs/create-X-1`, `PUT/kubernetesclusters/demo/status`,
 * `GET/secrets?purpose=anchor`.
 */
export function pointOf({ method, path, body, query }: ApiRequest): string {
  const { plural, name, subresource } = partsOf(path);
  const selector = query?.['labelSelector'];
  const known = name === '' ? nameIn(body) : name;
  const which =
    known === '' && typeof selector === 'string'
      ? `?${selector.replaceAll(/[a-z.]+\//g, '').replaceAll(',', '+')}`
      : `/${known}`;
  const text = `${method}/${plural}${which}${subresource === '' ? '' : `/${subresource}`}`;
  return text.replaceAll(ID, '$1X').replace(NET, '/hosts/N.');
}
