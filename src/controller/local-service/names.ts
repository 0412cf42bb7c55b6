import { shortHash } from '#base/canonical.ts';

/** RFC 1035 label, and value of a label: 63 characters. */
const MAX_LABEL = 63;
const HASH = 8;

/** A text that keeps within a label: cut, with a hash of the whole, where it is too long or is no label. */
const within = (text: string, isWhole: boolean): string =>
  isWhole && text.length <= MAX_LABEL
    ? text
    : `${text
        .replaceAll('.', '-')
        .slice(0, MAX_LABEL - HASH - 1)
        .replace(/-+$/, '')}-${shortHash(text, HASH)}`;

/** `vm/rack` of a node's pods: its name, or a short form with a hash. Names of nodes are DNS subdomains. */
export const rackOf = (node: string): string => within(node, true);

/** `<name>-<node>`, as people call it; a name of a Service has no dots. */
export const plainName = (name: string, node: string): string => `${name}-${node}`;

/** Whether a Service can have that name. */
export const isServiceName = (name: string): boolean => name.length <= MAX_LABEL && !name.includes('.');

/** The name in place of a plain one that cannot be, or that is the plain name of another LocalService's Service. */
export const shortName = (name: string, node: string): string =>
  // "/" stands in no name: no two pairs give the same text.
  within(`${name}/${node}`, false).replace('/', '-');
