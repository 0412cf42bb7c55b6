import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';

/** A host whose disk has a chosen number of free pages: a small tmpfs, in a mount namespace that ends with the test. */

const ansible = join(import.meta.dirname, '../..', 'ansible');
export const read = (path: string) => readFile(join(ansible, path), 'utf8');

/** Programs in /usr/local/sbin, as shell code; a script may replace some of them. */
const PROGRAMS: Readonly<Record<string, string>> = {
  systemctl: 'case "$1" in show) echo no ;; is-active | is-enabled) exit 1 ;; esac',
  ...Object.fromEntries(
    ['modprobe', 'sysctl', 'ip', 'nft', 'iptables', 'ip6tables', 'iptables-save', 'ip6tables-save', 'ss'].map(
      (name) => [name, ':'],
    ),
  ),
  journalctl: 'echo journal',
  sleep: ':',
  chroot: 'case "$*" in *ipset*) echo KUBE-DST-THEIRS ;; esac',
  kubeadm: ':',
  kubectl: 'cat > /dev/null; echo said',
  kubelet: 'echo Kubernetes v1.34.4',
  containerd: 'echo containerd x v2.0.0',
  'matryoshka-fence': '[ "$1" != protect ] || { shift 2; exec "$@"; }',
  // Returns content that names the path, or an archive.
  curl: `out= url=; while [ $# -gt 0 ]; do case $1 in -o) out=$2; shift ;; http*) url=$1 ;; esac; shift; done
case $url in */health) [ ! -s /var/lib/etcd/member/wal ] || echo '{"health":"true"}'; exit ;; esac
case $out in '') echo ok; exit ;; /dev/null) exit ;; esac
case $url in *.tgz) base64 -d < /usr/local/archive ;; *) printf 'what is at %s' "$url" ;; esac > "$out" || exit 23`,
  ctr: `case "$*" in
*'images ls -q name=='*) echo "\${6#name==}" ;;
*'images mount '*) mkdir -p "$6/bin" && printf program > "$6/bin/program" || exit 1; [ ! -d /usr/local/image ] || cp -r /usr/local/image/. "$6" ;;
*'images unmount '*) rm -rf "$6"/* ;;
*'images ls'*) cat /usr/local/images ;;
esac`,
};

/** Returns the archive that curl downloads; each of its files contains its own name. */
const archive = () =>
  execa(
    'bash',
    [
      '--norc',
      '-c',
      'd=$(mktemp -d); mkdir $d/bin; for f in containerd containerd-shim-runc-v2 ctr loopback flannel-amd64; do echo $f > $d/bin/$f; done; tar -C $d --sort=name --mtime=@0 -czf - bin | base64 -w0; rm -r $d',
    ],
    { stripFinalNewline: true },
  );

export interface SmallHostScript {
  /** The whole text, as host_script sends it. */
  text: string;
  /** Command that gets the text. Default: `bash -s`; a program that reads no input is possible too. */
  command?: string;
  /** Shell code that prepares the host. */
  before?: string;
  programs?: Readonly<Record<string, string>>;
  /** Runs only with enough space. */
  roomy?: boolean;
}

export interface Ran {
  /** Free pages at the start; the reference has enough for everything. */
  pages: number;
  code: number;
  stderr: string;
  /** Content of each file by path, in base64. */
  files: Map<string, string>;
}
export interface Trial {
  before: Map<string, string>;
  reference: Ran;
  /** Runs with little space until one succeeded, each followed by a run with enough space. */
  tight: { first: Ran; second: Ran }[];
}

const MOST_PAGES = 60;
const HARNESS = `
set -u
small=/mnt text=$(cat "$1.text") before=$(cat "$1.before") programs=$(cat "$1.programs") command=$2 most=$3
folders='etc var run opt usr/local tmp root'
fresh() {
  local folder
  for folder in $folders; do umount -R -l "/$folder" 2> /dev/null; done
  umount -l "$small" 2> /dev/null
  mount -t tmpfs -o size=8m,mode=755 tmpfs "$small" || exit 9
  for folder in $folders; do mkdir -p "$small/$folder"; done
  cp /etc/passwd /etc/group "$small/etc/"; cp -a /etc/ssl /etc/alternatives "$small/etc/" 2> /dev/null
  for folder in $folders; do mount --bind "$small/$folder" "/$folder"; done
  bash -c "$programs"; hash -r
  mkdir -p /etc/systemd/system /etc/sysctl.d /etc/modules-load.d /var/lib/matryoshka /etc/matryoshka/installed /run/matryoshka /usr/local/sbin
  printf '127.0.0.1 localhost\\n' > /etc/hosts
  printf 'cluster mine\\nhost tree /var/lib/matryoshka\\n' > /etc/matryoshka/made
  bash -c "$before"
}
fill() { # PAGES that stay free
  local free; free=$(($(stat -f -c %a "$small") - $1))
  [ "$free" -gt 0 ] || exit 9
  fallocate -l $((free * 4096)) "$small/filler"
}
run() { # NAME PAGES
  local err code
  err=$(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash -c "$command" < <(printf %s "$text") 2>&1 > /dev/null); code=$?
  echo "run $1 $2 $code $(printf %s "$err" | base64 -w0)"
}
files() {
  find /etc /var /run /opt /usr/local -xdev -type f ! -path '/usr/local/sbin/*' ! -path '/etc/alternatives/*' ! -path '/etc/ssl/*' ! -name '*.lock' | sort | while read -r path; do echo "file $path $(base64 -w0 < "$path")"; done
}
fresh; echo "run before 0 0 "; files
reference=$(run reference 9999); echo "$reference"; files
case $reference in 'run reference '*' 0 '*) ;; *) exit ;; esac
for pages in $(seq 0 8) $(seq 10 2 60); do
  [ "$pages" -le "$most" ] || break
  fresh; fill "$pages"
  first=$(run first "$pages"); echo "$first"; files
  rm -f "$small/filler"
  run second "$pages"; files
  case $first in 'run first '*' 0 '*) break ;; esac
done
`;

/** Runs a script with more and more space until it succeeds. After each run, runs it once more with enough space. */
export async function onSmallDisk({
  text,
  command = 'bash -s',
  before = '',
  programs = {},
  roomy = false,
}: SmallHostScript): Promise<Trial> {
  const folder = await mkdtemp(join(tmpdir(), 'small-host-'));
  try {
    const all = Object.entries({ ...PROGRAMS, ...programs }).map(
      ([name, body]) =>
        `cat > /usr/local/sbin/${name} <<'PROGRAM'\n#!/bin/bash\n${body}\nPROGRAM\nchmod 755 /usr/local/sbin/${name}\n`,
    );
    const { stdout: archived } = await archive();
    const made = `mkdir -p /usr/local/bin /usr/local/sbin\n${all.join('')}printf %s ${archived} > /usr/local/archive; echo docker.io/x:1 > /usr/local/images`;
    const write = (name: string, content: string) =>
      execa('tee', [`${folder}/host.${name}`], { input: content });
    await Promise.all([write('text', text), write('before', before), write('programs', made)]);
    const { stdout, stderr, exitCode } = await execa(
      'unshare',
      [
        '--mount',
        '--pid',
        '--fork',
        '--kill-child',
        '--mount-proc',
        'bash',
        '--norc',
        '-c',
        HARNESS,
        'small-host',
        `${folder}/host`,
        command,
        `${roomy ? -1 : MOST_PAGES}`,
      ],
      { reject: false, maxBuffer: 512 * 1024 * 1024 },
    );
    if (exitCode !== 0) throw new Error(`no small host: ${stderr}`);
    return trialOf(stdout);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function trialOf(output: string): Trial {
  const runs: { name: string; ran: Ran }[] = [];
  for (const line of output.split('\n')) {
    const [kind, a = '', b = '', c = '', d = ''] = line.split(' ');
    if (kind === 'run')
      runs.push({
        name: a,
        ran: {
          pages: Number(b),
          code: Number(c),
          stderr: Buffer.from(d, 'base64').toString(),
          files: new Map(),
        },
      });
    else if (kind === 'file') runs.at(-1)?.ran.files.set(a, b);
  }
  const named = (name: string) => runs.filter((run) => run.name === name).map(({ ran }) => ran);
  const [before] = named('before');
  const [reference] = named('reference');
  if (!before || !reference) throw new Error('the small host did not say what it had');
  const seconds = named('second');
  const tight = named('first').flatMap((first, at) => {
    const second = seconds[at];
    return second ? [{ first, second }] : [];
  });
  return { before: before.files, reference, tight };
}
