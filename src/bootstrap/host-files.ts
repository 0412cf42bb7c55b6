import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { execa } from 'execa';
import { formatSums, parseSums, SUMS_FILE } from '#artifacts/catalogue.ts';
import { imagePath } from '#artifacts/layout.ts';
import { UsageError } from '#base/errors.ts';
import type { SshConnection } from '#ssh/connection.ts';

export const HOST_ARTIFACTS = '/var/lib/matryoshka/artifacts';
const COPY_TIMEOUT_MS = 20 * 60_000;

/** Copies the artifacts that the host lacks, and checks all of them there; returns the number of copied files. */
export async function copyArtifacts(
  connection: SshConnection,
  directory: string,
  paths: readonly string[],
  progress: (line: string) => void,
): Promise<number> {
  const local = parseSums(readFileSync(join(directory, SUMS_FILE), 'utf8'));
  const wanted = new Map(paths.flatMap((path) => (local.has(path) ? [[path, local.get(path) ?? '']] : [])));
  const check = `mkdir -p ${HOST_ARTIFACTS}; cd ${HOST_ARTIFACTS}; sha256sum -c --quiet 2>/dev/null | sed -n 's/: FAILED.*//p'; true`;
  const checked = await connection.run(check, { input: formatSums(wanted), timeoutMs: COPY_TIMEOUT_MS });
  const missing = checked.stdout.split('\n').filter((path) => wanted.has(path));
  if (missing.length > 0) {
    progress(`copying ${missing.length} files to the host`);
    const tar = execa('tar', ['-C', directory, '--owner=0', '--group=0', '-chf', '-', '-T', '-'], {
      input: missing.join('\n'),
      encoding: 'buffer',
      buffer: false,
    });
    const unpack = `umask 022; tar -C ${HOST_ARTIFACTS} --no-same-permissions -xf - && chmod -R a+rX ${HOST_ARTIFACTS}`;
    const [{ code, stderr }] = await Promise.all([
      connection.run(unpack, { input: tar.readable(), timeoutMs: COPY_TIMEOUT_MS }),
      tar,
    ]);
    if (code !== 0) throw new Error(`the artifacts could not be copied: ${stderr.trim()}`);
    const again = await connection.run(check, { input: formatSums(wanted), timeoutMs: COPY_TIMEOUT_MS });
    const damaged = again.stdout.trim();
    if (damaged !== '') throw new Error(`artifacts arrived damaged: ${damaged.replaceAll('\n', ', ')}`);
  }
  const sums = `${HOST_ARTIFACTS}/${SUMS_FILE}`;
  const written = await connection.run(
    `umask 022; cat >${sums}.part && sync ${sums}.part && mv -f ${sums}.part ${sums}`,
    { input: formatSums(wanted), timeoutMs: 30_000 },
  );
  if (written.code !== 0) throw new Error(`${sums} cannot be written: ${written.stderr.trim()}`);
  return missing.length;
}

/** The directory of snapshots, of deploy/manifests/06-snapshots-volume.yaml. */
const HOST_SNAPSHOTS = '/var/lib/matryoshka/snapshots';
/** Group of the runner image's user. */
const RUNNER_GROUP = 10_001;

/** Makes the directory of snapshots. Each cluster's folder there gets its group, so that only Jobs can read it. */
export async function makeSnapshotsDirectory(connection: SshConnection): Promise<void> {
  const { code, stderr } = await connection.run(
    `mkdir -p ${HOST_SNAPSHOTS} && chgrp ${RUNNER_GROUP} ${HOST_SNAPSHOTS} && chmod 2770 ${HOST_SNAPSHOTS}`,
    { timeoutMs: 30_000 },
  );
  if (code !== 0) throw new Error(`${HOST_SNAPSHOTS} cannot be made: ${stderr.trim()}`);
}

/**
 * Image that bootstrap sent to the host. Its tag depends on its content: a new image is rolled out, an unchanged one is not.
 */
export interface SentImage {
  name: string;
  tagged: string;
}
const fullName = ({ tagged }: SentImage): string => `docker.io/${tagged}`;
const archiveOf = (image: SentImage): string => `${HOST_ARTIFACTS}/${imagePath(fullName(image))}`;

/** Checks that this machine's Docker has the image. Throws UsageError if it does not. */
export async function checkImage(image: string, flag: string): Promise<void> {
  const { failed, stderr, shortMessage } = await execa(
    'docker',
    ['image', 'inspect', '--format', '{{.Id}}', image],
    {
      reject: false,
      stdin: 'ignore',
      timeout: 30_000,
    },
  );
  if (!failed) return;
  const why = stderr?.trim() || shortMessage;
  throw new UsageError(
    `${flag}: this machine's Docker does not give image "${image}" (docs/getting-started.md, Build the images and the artifacts): ${why}`,
  );
}

/**
 * Copies an image of the admin machine's Docker to the host's artifacts, for other hosts to find, unless it is there
 * already.
 */
export async function sendImage(
  connection: SshConnection,
  image: string,
  name: string,
  progress: (line: string) => void,
): Promise<SentImage> {
  const { stdout: id } = await execa('docker', ['image', 'inspect', '--format', '{{.Id}}', image]);
  const tagged = `${name}:${createHash('sha256').update(id).digest('hex').slice(0, 12)}`;
  const archive = archiveOf({ name, tagged });
  const there = await connection.run(`test -s ${archive}`, { timeoutMs: 30_000 });
  if (there.code === 0) return { name, tagged };
  progress(`copying image ${tagged} to the host`);
  await execa('docker', ['tag', image, tagged]);
  const save = execa('docker', ['save', tagged], { encoding: 'buffer', buffer: false });
  const keep = `umask 022; mkdir -p ${dirname(archive)} && cat >${archive}.part && sync ${archive}.part && mv -f ${archive}.part ${archive}`;
  const [{ code, stderr }] = await Promise.all([
    connection.run(keep, { input: save.readable(), timeoutMs: COPY_TIMEOUT_MS }),
    save,
  ]);
  if (code !== 0) throw new Error(`image ${tagged} could not be copied: ${stderr.trim()}`);
  return { name, tagged };
}

/**
 * Imports the sent image into the host's containerd and pins it, so that the kubelet does not remove it when a disk fills.
 * Unpins earlier images of the name.
 */
export async function importImage(connection: SshConnection, image: SentImage): Promise<void> {
  const { code, stderr } = await connection.run('/bin/sh -s', {
    input: importScript(`docker.io/${image.name}`, fullName(image), archiveOf(image)),
    timeoutMs: COPY_TIMEOUT_MS,
  });
  if (code !== 0) throw new Error(`image ${image.tagged} could not be imported: ${stderr.trim()}`);
}

const importScript = (repository: string, image: string, archive: string): string => `set -e
PATH=$PATH:/usr/local/bin
[ -n "$(ctr -n k8s.io images ls -q name==${image})" ] || ctr -n k8s.io images import --local --all-platforms ${archive} >&2
ctr -n k8s.io images label ${image} io.cri-containerd.pinned=pinned >/dev/null
for old in $(ctr -n k8s.io images ls -q | grep '^${repository}:' | grep -vxF '${image}'); do
  ctr -n k8s.io images label "$old" io.cri-containerd.pinned= >/dev/null
done
find ${dirname(archive)} -name '${basename(repository)}_*.tar' ! -path ${archive} -delete
`;
