/** Characters that stay unencoded in a path. Source: RFC 3986, 3.3 (pchar, without percent-encoding). */
const PLAIN = /^[A-Za-z0-9\-._~!$&'()*+,;=:@/]*$/;
const ENCODED_OR_OTHER = /%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~!$&'()*+,;=:@/]/gu;
const UNRESERVED = /^[A-Za-z0-9\-._~]$/;

/**
 * Returns the canonical path that rules and requests are compared by: unreserved characters decoded, all others encoded as
 * UTF-8 with upper-case digits. `%2F` stays encoded, because it is no separator. Source: RFC 3986, 6.2.2.
 */
export function normalizedPath(path: string): string {
  if (PLAIN.test(path)) return path;
  return path.toWellFormed().replace(ENCODED_OR_OTHER, (found) => {
    if (!/^%../.test(found)) return encodeURIComponent(found);
    const character = String.fromCharCode(Number.parseInt(found.slice(1), 16));
    return UNRESERVED.test(character) ? character : found.toUpperCase();
  });
}

const UNSAFE = /(\/|%2f)(\.|%2e){1,2}(?=[/;]|%2f|$)|\\|%5c|%00/i;

/**
 * Whether a path has `.` or `..` as an element, a backslash or a NUL, plain or encoded. A backend may remove such elements
 * after the rules were compared, so the proxy rejects these requests.
 */
export const isUnsafePath = (path: string): boolean => UNSAFE.test(path);
