import { shortHash } from '#base/canonical.ts';

/** Links have names of at most 15 characters (IFNAMSIZ without its NUL). */
const HASH = 10;

/** The bridge of an object, by its uid: the same on every host and for ever. Its table of packet rules has that name too. */
export const bridgeNameOf = (uid: string): string => `mxn-${shortHash(uid, HASH)}`;
