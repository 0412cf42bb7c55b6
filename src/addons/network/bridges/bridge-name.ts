import { shortHash } from '#base/canonical.ts';

/** Length of the hash: names of links have at most 15 characters (IFNAMSIZ without its NUL). */
const HASH = 10;

/**
 * Returns the bridge's name by the uid of its object. It is the same on every host and never changes. The bridge's table of
 * packet rules has that name too.
 */
export const bridgeNameOf = (uid: string): string => `mxn-${shortHash(uid, HASH)}`;
