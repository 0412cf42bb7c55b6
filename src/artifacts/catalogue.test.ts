import { describe, expect, it } from 'vitest';
import { catalogue, formatSums, parseSums, playbookVariables } from './catalogue.ts';
import { layout } from './layout.ts';
import { type Release, releaseOf } from './releases.ts';
import { coveredReleases } from './site.ts';

const release = known('v1.34.4');
const sum = 'a'.repeat(64);
const sumsOf = (...these: Release[]) =>
  formatSums(new Map(these.flatMap((one) => layout(one)).map(({ path }) => [path, sum])));
const all = new Map(layout(release).map(({ path }) => [path, sum]));

function known(version: string): Release {
  const found = releaseOf(version);
  if (!found) throw new Error(`no release ${version}`);
  return found;
}

describe('releases', () => {
  it('finds a version with and without its v, and no other', () => {
    expect(releaseOf('1.34.4')).toBe(release);
    expect(releaseOf('v1.34.4')).toBe(release);
    expect(releaseOf('1.34')).toBeUndefined();
  });
  it('are offered if the source has their binaries', () => {
    const offered = (...these: string[]) =>
      coveredReleases(sumsOf(...these.map(known))).map(({ kubernetes }) => kubernetes);
    expect(offered('v1.34.4')).toEqual(['v1.34.4']);
    expect(offered('v1.34.4', 'v1.36.3')).toEqual(['v1.36.3', 'v1.34.4']);
    expect(() => coveredReleases(sumsOf(known('v1.34.4')).replace(/.*\/kubelet\n/, ''))).toThrow(
      'no sum for',
    );
  });
});

describe('sums', () => {
  it('reads what it writes', () => {
    expect(parseSums(formatSums(all))).toEqual(all);
  });
  it('refuses a damaged list', () => {
    expect(() => parseSums(`${sum}  a\n<html>\n`)).toThrow('not a line of SHA256SUMS: <html>');
  });
});

describe('catalogue', () => {
  it('lists each path and each name once', () => {
    const entries = catalogue(release, formatSums(all));
    expect(new Set(entries.map(({ path }) => path)).size).toBe(entries.length);
    expect(new Set(entries.map(({ name }) => name)).size).toBe(entries.length);
  });
  it('lays images out by registry, name and tag', () => {
    expect(catalogue(release, formatSums(all)).find(({ name }) => name === 'coredns')).toMatchObject({
      path: 'images/registry.k8s.io/coredns/coredns_v1.12.1.tar',
      image: 'registry.k8s.io/coredns/coredns:v1.12.1',
    });
  });
  it('omits images that the source lacks, but fails on missing binaries', () => {
    const without = (wanted: string) =>
      formatSums(new Map([...all].filter(([path]) => !path.includes(wanted))));
    expect(catalogue(release, without('images/')).map(({ name }) => name)).not.toContain('etcd');
    expect(() => catalogue(release, without('runc.amd64'))).toThrow(
      'no sum for github.com/opencontainers/runc',
    );
  });
  it('becomes variables with files by name and images in a list', () => {
    const variables = playbookVariables(release, catalogue(release, formatSums(all)));
    expect(variables.artifact_files['kubelet']).toEqual({
      path: 'dl.k8s.io/release/v1.34.4/bin/linux/amd64/kubelet',
      sha256: sum,
    });
    expect(variables.artifact_images.map(({ image }) => image)).toContain(
      'registry.k8s.io/kube-proxy:v1.34.4',
    );
  });
});
