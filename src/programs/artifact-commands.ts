import { resolve } from 'node:path';
import { stringify } from 'yaml';
import { SUMS_FILE } from '#artifacts/catalogue.ts';
import { checkSource, onlyInRegistries } from '#artifacts/check.ts';
import { layout } from '#artifacts/layout.ts';
import { type Release, releaseOf, releases } from '#artifacts/releases.ts';
import { siteArtifacts } from '#artifacts/site.ts';
import { materialise, parseSource, type Source, sumsOf } from '#artifacts/source.ts';
import { UsageError } from '#base/errors.ts';

/** Commands for artifacts at a shell, for hosts without internet access. Output lines are tab-separated. */

type Print = (line: string) => void;

/** Prints name, path, image and hosts of each file of a release; a mirror has the files at these paths. */
export function listArtifacts({ kubeVersion }: { kubeVersion?: string | undefined }, print: Print): void {
  print(['NAME', 'HOSTS', 'PATH', 'IMAGE'].join('\t'));
  for (const { name, hosts, path, image } of layout(wanted(kubeVersion)))
    print([name, hosts, path, image ?? '-'].join('\t'));
}

/** Downloads every file of a release into a directory and checks each; correct files stay. */
export async function pullArtifacts(
  options: { from: string; to: string; kubeVersion?: string | undefined },
  print: Print,
): Promise<void> {
  const source = sourceOf('--from', options.from);
  if (source.kind === 'directory')
    throw new UsageError('--from: is a directory already; "check" checks whether it is complete');
  const [release, to] = [wanted(options.kubeVersion), resolve(options.to)];
  const artifacts = await materialise(source, release, to, print);
  print(`${to} has ${artifacts.length} files, each with its sum, listed in ${SUMS_FILE}`);
  const has = new Set(artifacts.map(({ path }) => path));
  const absent = onlyInRegistries(release).filter(({ path }) => !has.has(path));
  if (absent.length === 0) return;
  print(
    'These images are in registries only. Hosts that reach none need them in the directory as well; type there:',
  );
  for (const { image = '', path } of absent)
    print(
      `  docker pull ${image} && mkdir -p "$(dirname '${path}')" && docker save ${image} -o '${path}' && sha256sum '${path}' >> ${SUMS_FILE}`,
    );
}

/** Compares every file of a source with its sum; returns whether a cluster can be created from it. */
export async function checkArtifacts(
  options: { source: string; kubeVersion?: string | undefined },
  print: Print,
): Promise<boolean> {
  const source = sourceOf('--source', options.source);
  if (source.kind === 'upstream')
    throw new UsageError('--source: is a mirror or a directory; upstream has no list');
  const findings = await checkSource(source, wanted(options.kubeVersion));
  for (const { state, path, detail } of findings)
    print([state, path, ...(detail ? [detail] : [])].join('\t'));
  const bad = findings.filter(({ state }) => state === 'missing' || state === 'wrong');
  const absent = findings.filter(({ state }) => state === 'absent');
  if (absent.length > 0) print(`${absent.length} absent: hosts pull these images from their registries`);
  print(bad.length === 0 ? 'whole' : `${bad.length} of ${findings.length} files are missing or wrong`);
  return bad.length === 0;
}

/** Prints the artifacts of a source as values of the chart. */
export async function printSite(
  options: { source: string; baseUrl?: string | undefined; reservedNetworks: readonly string[] },
  print: Print,
): Promise<void> {
  const source = sourceOf('--source', options.source);
  if (source.kind === 'upstream')
    throw new UsageError('--source: is a mirror or a directory; upstream has no list');
  const baseUrl = options.baseUrl ?? (source.kind === 'mirror' ? options.source : undefined);
  if (baseUrl === undefined)
    throw new UsageError(
      '--base-url: is missing; name the URL from which hosts get the files of the directory',
    );
  const artifacts = siteArtifacts(baseUrl, await sumsOf(source, releases[0]));
  print(
    stringify({
      site: { artifacts: { ...artifacts, reservedNetworks: [...options.reservedNetworks] } },
    }).trimEnd(),
  );
}

function wanted(kubeVersion: string | undefined): Release {
  if (kubeVersion === undefined) return releases[0];
  const release = releaseOf(kubeVersion);
  if (release) return release;
  const offered = releases.map(({ kubernetes }) => kubernetes).join(', ');
  throw new UsageError(`--kube-version: ${kubeVersion} is not offered; choose of ${offered}`);
}

function sourceOf(flag: string, text: string): Source {
  try {
    return parseSource(/^(upstream$|https?:)/.test(text) ? text : resolve(text));
  } catch (error) {
    throw new UsageError(`${flag}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
