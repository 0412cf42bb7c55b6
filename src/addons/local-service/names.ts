import type { Node, Service } from '#api/core.ts';
import { shortHash } from '#base/canonical.ts';
import { RACK_LABEL } from './api.ts';

/** Maximum length of an RFC 1035 label, and of a label value. */
const MAX_LABEL = 63;
const HASH = 8;

/** Fits a text into a label: cuts it and appends a hash of the whole if it is too long or no label. */
const within = (text: string, isWhole: boolean): string =>
  isWhole && text.length <= MAX_LABEL
    ? text
    : `${text
        .replaceAll('.', '-')
        .slice(0, MAX_LABEL - HASH - 1)
        .replace(/-+$/, '')}-${shortHash(text, HASH)}`;

/** Returns `vm/rack` of a node's pods: the node's name, or a short form with a hash. Names of nodes are DNS subdomains. */
export const rackOf = (node: string): string => within(node, true);

/** Returns `<name>-<node>` with the node's dots as dashes, because a name of a Service has no dots. */
export const plainName = (name: string, node: string): string => `${name}-${node.replaceAll('.', '-')}`;

/** Returns a name with a hash, for a plain name that is too long or belongs to another Service of a LocalService. */
export const shortName = (name: string, node: string): string =>
  // No name contains "/", so no two pairs give the same text.
  within(`${name}/${node}`, false).replace('/', '-');

/** Inputs for the names of a LocalService's Services. */
export interface NamesInUse {
  nodes: readonly Node[];
  /** Services of the LocalService. */
  mine: readonly Service[];
  /** Whether a Service of another LocalService has the name. */
  isAnothers(service: string): boolean;
}

/**
 * Returns the name of each node's Service, by node. An existing Service keeps its name, so clients that know the name still
 * reach the node when nodes or LocalServices come and go. A new Service gets the plain name, unless it is too long, another
 * Service has it, or two nodes differ in dots and dashes alone.
 */
export function serviceNames(name: string, { nodes, mine, isAnothers }: NamesInUse): Map<string, string> {
  const namesOf = nodes.map(({ metadata }) => {
    const node = metadata.name ?? '';
    return { node, plain: plainName(name, node), short: shortName(name, node) };
  });
  const present = new Set(
    mine.map(({ metadata: { labels, name: service } }) => `${labels?.[RACK_LABEL]} ${service}`),
  );
  const isPresent = (node: string, service: string) => present.has(`${rackOf(node)} ${service}`);
  const given = new Map<string, string>();
  const used = new Set<string>();
  for (const { node, plain, short } of namesOf) {
    const kept = [plain, short].find((service) => isPresent(node, service));
    if (kept === undefined) continue;
    given.set(node, kept);
    used.add(kept);
  }
  const withPlain = Map.groupBy(namesOf, ({ plain }) => plain);
  for (const { node, plain, short } of namesOf) {
    if (given.has(node)) continue;
    // Node a-b has the plain name without changes, so a.b gets a hash.
    const isAmbiguous = node.includes('.') && (withPlain.get(plain) ?? []).length > 1;
    const canBePlain = plain.length <= MAX_LABEL && !isAmbiguous && !used.has(plain) && !isAnothers(plain);
    given.set(node, canBePlain ? plain : short);
  }
  return given;
}
