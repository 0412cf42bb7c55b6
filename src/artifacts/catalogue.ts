/**
 * Knows the files of a release and their sums. The folder also downloads, checks and serves these files, and serves images
 * by the routes of a registry.
 */

import { type Entry, layout } from './layout.ts';
import type { Release } from './releases.ts';

/** Entry with its SHA-256. */
export interface Artifact extends Entry {
  readonly sha256: string;
}

/** Name of the file of sums at the root of a mirror or directory. */
export const SUMS_FILE = 'SHA256SUMS';

/** Parses the output of `sha256sum`: path → SHA-256. Throws upon an invalid line, because a damaged list must not pass. */
export function parseSums(text: string): Map<string, string> {
  const sums = new Map<string, string>();
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const [, sum, path] = /^([0-9a-f]{64}) [ *](\S.*)$/.exec(line) ?? [];
    if (sum === undefined || path === undefined)
      throw new Error(`not a line of ${SUMS_FILE}: ${line.slice(0, 120)}`);
    sums.set(path, sum);
  }
  return sums;
}

/** Formats sums for `sha256sum -c`, in order of paths. */
export function formatSums(sums: ReadonlyMap<string, string>): string {
  return [...sums]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, sum]) => `${sum}  ${path}\n`)
    .join('');
}

/**
 * Lists the files that hosts of a release need, each with its sum. Files that a source cannot have (images without an
 * upstream file) may be absent and are then pulled from their registry. Throws if a binary is absent.
 */
export function catalogue(release: Release, sumsText: string): Artifact[] {
  const sums = parseSums(sumsText);
  const missing: string[] = [];
  const artifacts = layout(release).flatMap((entry) => {
    const sha256 = sums.get(entry.path);
    if (sha256 !== undefined) return [{ ...entry, sha256 }];
    if (entry.image === undefined) missing.push(entry.path);
    return [];
  });
  if (missing.length > 0) throw new Error(`no sum for ${missing.join(', ')}`);
  return artifacts;
}

/** Whether the sums have every file of a release that no registry can replace. */
export function covers(sumsText: string, release: Release): boolean {
  const sums = parseSums(sumsText);
  return layout(release).every(({ path, image }) => image !== undefined || sums.has(path));
}

/** Returns the catalogue of a release as variables of the playbooks. */
export function playbookVariables(
  release: Release,
  artifacts: readonly Artifact[],
): {
  /** The image of each component, whether or not its file is among the artifacts. */
  component_images: Record<string, string>;
  artifact_files: Record<string, { path: string; sha256: string }>;
  artifact_images: { image: string; path: string; sha256: string; hosts: Entry['hosts'] }[];
} {
  return {
    component_images: Object.fromEntries(
      layout(release).flatMap(({ name, image }) => (image === undefined ? [] : [[name, image]])),
    ),
    artifact_files: Object.fromEntries(
      artifacts
        .filter(({ image }) => image === undefined)
        .map(({ name, path, sha256 }) => [name, { path, sha256 }]),
    ),
    artifact_images: artifacts.flatMap(({ image, path, sha256, hosts }) =>
      image === undefined ? [] : [{ image, path, sha256, hosts }],
    ),
  };
}
