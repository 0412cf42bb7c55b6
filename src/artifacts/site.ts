import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { catalogue, covers, playbookVariables } from './catalogue.ts';
import { type Release, releases } from './releases.ts';

/** Artifacts of an installation, for Jobs and the API: `artifacts.json` of its site ConfigMap. */
const siteArtifactsSchema = z.object({
  /** Source of the hosts' downloads: the meta cluster's artifact server, or a mirror. */
  baseUrl: z.string(),
  /** Role variables by Kubernetes version. */
  releases: z.record(z.string(), z.record(z.string(), z.unknown())),
  /** Networks of the meta cluster: its host, its pods, its Services. No host of a cluster may be in one of them. */
  reservedNetworks: z.array(z.string()).default([]),
});
export type SiteArtifacts = z.input<typeof siteArtifactsSchema>;

/** Lists the releases that the sums cover, the newest first. Throws if they cover none. */
export function coveredReleases(sums: string): [Release, ...Release[]] {
  const [newest, ...older] = releases.filter((release) => covers(sums, release));
  if (newest) return [newest, ...older];
  // This names the files that are missing.
  catalogue(releases[0], sums);
  throw new Error('the artifacts are of no release that is known');
}

/** Returns the artifacts of the releases that the sums cover. Throws if they cover none. */
export const siteArtifacts = (baseUrl: string, sums: string): SiteArtifacts => ({
  baseUrl,
  releases: Object.fromEntries(
    coveredReleases(sums).map((release) => [
      release.kubernetes,
      playbookVariables(release, catalogue(release, sums)),
    ]),
  ),
});

/** Returns the versions that this installation offers, the newest first, and the networks that it reserves. */
export function offerOf(siteDir: string): { versions: string[]; reservedNetworks: string[] } {
  const text = readFileSync(`${siteDir}/artifacts.json`, 'utf8');
  const { releases: offered, reservedNetworks } = siteArtifactsSchema.parse(JSON.parse(text));
  // Programs that write JSON may sort its keys: Helm does.
  const versions = Object.keys(offered).sort((a, b) => b.localeCompare(a, 'en', { numeric: true }));
  return { versions, reservedNetworks };
}
