import { type Release, releases } from '#artifacts/releases.ts';

/** Without RELEASES: the newest that most tests create, and the one before it, from which they upgrade. */
const DEFAULT = ['v1.35.4', 'v1.34.4'];
const { RELEASES } = process.env;

/** Releases that the lab builds and offers, the newest first: RELEASES="v1.36.3 v1.35.4" (Makefile). */
export const labReleases: readonly [Release, ...Release[]] = chosen(RELEASES?.split(' ') ?? DEFAULT);

function chosen(names: readonly string[]): [Release, ...Release[]] {
  const known = releases.map(({ kubernetes }) => kubernetes);
  const unknown = names.filter((name) => !known.includes(name));
  const [newest, ...older] = releases.filter(({ kubernetes }) => names.includes(kubernetes));
  if (unknown.length > 0 || !newest)
    throw new Error(`RELEASES names ${unknown.join(', ') || 'none'}; choose of ${known.join(', ')}`);
  return [newest, ...older];
}
