import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { catalogue, playbookVariables } from './catalogue.ts';
import { releases } from './releases.ts';

/** What an installation tells Jobs and the API of artifacts: `artifacts.json` of its site ConfigMap. */
const siteArtifactsSchema = z.object({
  /** Where hosts fetch from: the meta cluster's artifact server, or a mirror. */
  baseUrl: z.string(),
  /** Role variables by Kubernetes version, the newest first. */
  releases: z.record(z.string(), z.record(z.string(), z.unknown())),
});
export type SiteArtifacts = z.infer<typeof siteArtifactsSchema>;

/** Every release that the sums cover. Throws when they cover none. */
export function siteArtifacts(baseUrl: string, sums: string): SiteArtifacts {
  return {
    baseUrl,
    releases: Object.fromEntries(
      releases.map((release) => [release.kubernetes, playbookVariables(catalogue(release, sums))]),
    ),
  };
}

/** Versions that this installation offers, the newest first. */
export function offeredVersions(siteDir: string): string[] {
  const text = readFileSync(`${siteDir}/artifacts.json`, 'utf8');
  return Object.keys(siteArtifactsSchema.parse(JSON.parse(text)).releases);
}
