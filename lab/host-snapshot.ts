import { z } from 'zod';
import { docker } from './hosts/docker.ts';

/** State of a host in comparable lines: files, mounts, links, packet rules, units. */
export const HostSnapshot = z.record(
  z.enum(['files', 'mounts', 'links', 'routes', 'rules', 'units', 'processes', 'sysctls']),
  z.array(z.string()),
);
export type HostSnapshot = z.infer<typeof HostSnapshot>;

/**
 * Lines that may differ after a cluster is removed, with the reason: one pattern for a line of the snapshot. Any other
 * difference is left by Matryoshka.
 */
const allowed: readonly { readonly pattern: RegExp; readonly because: string }[] = [
  {
    pattern: / \/etc\/matryoshka(\/owner\.json)?$/,
    because: 'the fence keeps the last epoch, so that it only grows',
  },
  { pattern: / \/var\/log\//, because: 'logs tell what happened' },
  {
    pattern: / \/var\/lib\/systemd\//,
    because: "systemd's own book-keeping: timers, random seed, core dumps",
  },
  { pattern: / \/var\/lib\/dbus\//, because: "the bus's own book-keeping" },
  { pattern: / \/var\/cache\/ldconfig\//, because: "the loader's cache" },
  { pattern: / \/var\/tmp\/systemd-private-/, because: 'private to a unit, named anew at each boot' },
  { pattern: /127\.0\.0\.11/, because: "Docker's own name server, on other ports after a restart" },
  { pattern: / \/root\/\.(ansible|ssh)(\/|$)/, because: 'traces of an SSH login' },
  { pattern: /^net\.netfilter\.nf_conntrack_(count|max)/, because: 'counts of the moment' },
];

/**
 * Script that runs on the host. It hashes content with the hash that is fastest there; times and sizes of folders have no
 * meaning. It reads a file again only if it has changed since the snapshot before. Like git's index, it compares inode, size
 * and times, and distrusts files that were written within two seconds before.
 */
const SCRIPT = String.raw`
# Without it no file would be listed, and none be missed.
command -v openssl > /dev/null || { echo 'there is no openssl here' >&2; exit 1; }
list() { find / /var -xdev \( -path /proc -o -path /sys -o -path /run -o -path /tmp -o -path /dev \) -prune -o "$@"; }
work=/dev/shm/lab-snapshot; mkdir -p $work; touch $work/known; since=$(($(date +%s) - 2))
list -type f -printf '%i %s %T@ %C@\t%p\n' | sort -u |
  awk -F'\t' -v OFS='\t' 'FILENAME == ARGV[1] { sum[$2 FS $3] = $1; next } { print ($0 in sum ? sum[$0] : "-"), $0 }' $work/known - > $work/now
awk -F'\t' '$1 == "-" { printf "%s%c", $3, 0 }' $work/now | xargs -0 -r openssl dgst -sha256 -r |
  awk -F'\t' -v OFS='\t' 'FILENAME == ARGV[1] { sum[substr($0, 67)] = substr($0, 1, 16); next }
    $1 == "-" { if (!($3 in sum)) next; $1 = sum[$3] } { print }' - $work/now > $work/summed
awk -F'\t' -v since="$since" '{ split($2, at, " "); if (at[3] < since && at[4] < since) print }' $work/summed > $work/known
echo '#files'
awk -F'\t' '{ print $1, $3 }' $work/summed
list -type l -printf 'link:%l %p\n' | sort -u
list -type d -printf 'dir:%m %p\n' | sort -u
echo '#mounts'; awk '{print $1, $2, $3}' /proc/mounts | sort
echo '#links'; ip -o link | sed 's/^[0-9]*: \([^:@]*\).*/\1/' | sort
echo '#routes'; ip route; ip -6 route
echo '#rules'; nft -s list ruleset | grep -v '^$'; /usr/libexec/lab/ipset list -n | sed 's/^/set /'
echo '#units'; systemctl list-units --all --no-legend --plain --type=service,mount,timer,socket,path,slice | awk '{print $1, $3}' |
  grep -vE '^(session|user|run-user|user-runtime|run-credentials-)|systemd-tmpfiles-clean|@' | sort
# Other unit files, and which are enabled, is among the files and links: the manager would read them all for this.
find /run/systemd/{system,transient,generator*} ! -type d ! -name 'session-*' -printf 'run:%l %p\n' 2>/dev/null | sort
# Without those whose parent is outside, which came in by docker exec as this script, and what a timer of the host's starts now and then.
echo '#processes'; ps -eo ppid=,comm= | awk '$1 != 0 { sub(/^ *[0-9]+ +/, ""); print }' | grep -vE '^(ps|sh|bash|sort|grep|awk|sed|sshd|kworker.*|sleep|timeout|systemctl|systemd-tmpfile|\(.*\))$' | sort -u
echo '#sysctls'; sysctl -a 2>/dev/null | grep -E '^(net\.ipv4\.ip_forward|net\.ipv[46]\.conf\.(all|default|eth0)\.|net\.bridge|vm\.overcommit|kernel\.panic)' | sort
`;

/** Takes the snapshot of a lab host. */
export async function snapshotHost(name: string): Promise<HostSnapshot> {
  const text = await docker(['exec', name, 'bash', '-c', SCRIPT], 120_000);
  const sections: Record<string, string[]> = {};
  let present: string[] = [];
  for (const line of text.split('\n')) {
    if (line.startsWith('#')) sections[line.slice(1)] = present = [];
    else if (line !== '') present.push(line);
  }
  // Two snapshots without files would be equal.
  if (!sections['files']?.length) throw new Error(`no file is seen on ${name}`);
  return HostSnapshot.parse(sections);
}

/** Lists lines that only one snapshot has and that the list above does not allow: `- gone`, `+ new`. */
export function differences(before: HostSnapshot, after: HostSnapshot): string[] {
  const lines = HostSnapshot.keyType.options.flatMap((section) => {
    const was = new Set(before[section]);
    const is = new Set(after[section]);
    return [
      ...[...was].filter((line) => !is.has(line)).map((line) => ({ line, text: `- ${section}: ${line}` })),
      ...[...is].filter((line) => !was.has(line)).map((line) => ({ line, text: `+ ${section}: ${line}` })),
    ];
  });
  return lines
    .filter(({ line }) => !allowed.some(({ pattern }) => pattern.test(line)))
    .map(({ text }) => text);
}
