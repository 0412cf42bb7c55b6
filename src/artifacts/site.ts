import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { catalogue, playbookVariables } from './catalogue.ts';
import { releases } from './releases.ts';

/** Artifacts of an installation, for Jobs and the API: `artifacts.json` of its site ConfigMap. */
const siteArtifactsSchema = z.object({
  /** Source of the hosts' downloads: the meta cluster's artifact server, or a mirror. */
  baseUrl: z.string(),
  /** Role variables by Kubernetes version, the newest first. */
  releases: z.record(z.string(), z.record(z.string(), z.unknown())),
  /** Networks of the meta cluster: its host, its pods, its Services. No host of a cluster may be in one of them. */
  reservedNetworks: z.array(z.string()).default([]),
});
export type SiteArtifacts = z.input<typeof siteArtifactsSchema>;

/** Lists every release that the sums cover. Throws if they cover none. */
export function siteArtifacts(baseUrl: string, sums: string): SiteArtifacts {
  return {
    baseUrl,
    releases: Object.fromEntries(
      releases.map((release) => [release.kubernetes, playbookVariables(release, catalogue(release, sums))]),
    ),
  };
}

/** Returns the versions that this installation offers, the newest first, and the networks that it reserves. */
export function offerOf(siteDir: string): { versions: string[]; reservedNetworks: string[] } {
  const text = readFileSync(`${siteDir}/artifacts.json`, 'utf8');
  const { releases: offered, reservedNetworks } = siteArtifactsSchema.parse(JSON.parse(text));
  return { versions: Object.keys(offered), reservedNetworks };
}
