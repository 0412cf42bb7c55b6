import { type Entry, layout } from './layout.ts';
import type { Release } from './releases.ts';

/** An entry with what it must hash to. */
export interface Artifact extends Entry {
  readonly sha256: string;
}

/** The file of sums at the root of a mirror or directory. */
export const SUMS_FILE = 'SHA256SUMS';

/** Path → SHA-256, from the text of `sha256sum`. Lines that are none are an error: a damaged list must not pass. */
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

/** The text that `sha256sum -c` reads, in order of paths. */
export function formatSums(sums: ReadonlyMap<string, string>): string {
  return [...sums]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, sum]) => `${sum}  ${path}\n`)
    .join('');
}

/**
 * What the hosts of a release need, each with its sum. Files that a source cannot have (images without an upstream
 * file) may be absent and are then pulled from their registry; an absent binary is an error.
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

/** The catalogue as the playbooks' variables take it. */
export function playbookVariables(artifacts: readonly Artifact[]): {
  artifact_files: Record<string, { path: string; sha256: string }>;
  artifact_images: { image: string; path: string; sha256: string; hosts: Entry['hosts'] }[];
} {
  return {
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
