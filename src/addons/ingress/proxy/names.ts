import { createHash } from 'node:crypto';

/**
 * Returns HAProxy's name of a backend or a pair. A namespace has no underscore, so names of two namespaces differ. The part
 * after `#` is hashed. Source: haproxy 3.0 configuration manual, 2.5.
 */
export function nameOf(id: string): string {
  const at = id.indexOf('#');
  const plain = (at < 0 ? id : id.slice(0, at)).replaceAll(/[^\w.-]/g, '_');
  if (at < 0) return plain;
  return `${plain}_${createHash('sha256').update(id.slice(at)).digest('hex').slice(0, 12)}`;
}
