import type { KubeObject, ObjectKey } from '#api/meta.ts';

/** Returns `namespace/name`, or `name` alone for cluster-scoped objects (client-go MetaNamespaceKeyFunc). */
export function keyText({ namespace, name }: ObjectKey): string {
  return namespace === '' ? name : `${namespace}/${name}`;
}

export function keyFromText(text: string): ObjectKey {
  const slash = text.indexOf('/');
  return slash === -1
    ? { namespace: '', name: text }
    : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}

export function keyOf({ metadata }: KubeObject): ObjectKey {
  return { namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
}
