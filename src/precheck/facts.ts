import { z } from 'zod';

/** What the host itself says; gathered by one command, so that a check costs no round trip. */
export interface HostFacts {
  uid: number;
  architecture: string;
  os: { id: string; version: string };
  cpus: number;
  memoryMiB: number;
  diskFreeGiB: number;
  swapKiB: number;
  timeMs: number;
  hostname: string;
  machineId: string;
  /** Name of process 1. */
  init: string;
  python: boolean;
  /** TCP ports that something listens on. */
  ports: number[];
  /** Paths of another cluster's remains. */
  leftovers: string[];
  owner?: { clusterId: string; released: boolean } | undefined;
  /** Whether the artifacts answered; undefined when none were asked for. */
  artifacts?: boolean | undefined;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * A POSIX shell script that prints one `@key value` line a fact. It changes nothing, and each line stands alone: what
 * a host lacks leaves a line out, and the check that needs it says so.
 */
export function factsScript(artifactUrl: string | undefined): string {
  const probe =
    artifactUrl === undefined
      ? ''
      : `if command -v curl >/dev/null; then curl -fsI -m 5 -o /dev/null ${quoted(artifactUrl)} && say artifacts yes || say artifacts no
elif command -v python3 >/dev/null; then python3 -c 'import sys,urllib.request as u; u.urlopen(u.Request(sys.argv[1], method="HEAD"), timeout=5)' ${quoted(artifactUrl)} 2>/dev/null && say artifacts yes || say artifacts no
fi`;
  return `say() { printf '@%s %s\\n' "$1" "$2"; }
say time "$(date +%s%3N)"
say uid "$(id -u)"
say architecture "$(uname -m)"
(. /etc/os-release; say os "$ID"; say osVersion "$VERSION_ID") 2>/dev/null
say cpus "$(nproc 2>/dev/null || grep -c ^processor /proc/cpuinfo)"
say memoryKiB "$(awk '/^MemTotal/ {print $2}' /proc/meminfo)"
say swapKiB "$(awk 'NR>1 {s+=$3} END {print s+0}' /proc/swaps)"
say diskFreeKiB "$(df -Pk /var/lib | awk 'NR==2 {print $4}')"
say hostname "$(cat /proc/sys/kernel/hostname)"
say machineId "$(cat /etc/machine-id 2>/dev/null)"
say init "$(cat /proc/1/comm)"
command -v python3 >/dev/null && say python yes
cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk '$4=="0A" {split($2,a,":"); print a[length(a)]}' | sort -u | while read -r hex; do say port "$(printf %d "0x$hex")"; done
for path in /etc/kubernetes/admin.conf /etc/kubernetes/kubelet.conf /etc/kubernetes/manifests/* /var/lib/etcd/member /var/lib/rancher /etc/kubeadm; do [ -e "$path" ] && say leftover "$path"; done
[ -f /etc/matryoshka/owner.json ] && say owner "$(tr -d '\\n' </etc/matryoshka/owner.json)"
${probe}
exit 0
`;
}

const ownerSchema = z.object({ clusterId: z.string(), released: z.boolean().optional() });

/** Reads what the script printed; lines that are none of its own (a banner, a profile's output) are passed over. */
export function parseFacts(output: string): HostFacts {
  const values = new Map<string, string[]>();
  for (const line of output.split('\n')) {
    const match = /^@([A-Za-z]+) ?(.*)$/.exec(line.trimEnd());
    if (match?.[1] !== undefined) values.set(match[1], [...(values.get(match[1]) ?? []), match[2] ?? '']);
  }
  const text = (key: string): string => values.get(key)?.[0]?.trim() ?? '';
  const number = (key: string): number => Number(text(key) || Number.NaN);
  const artifacts = values.get('artifacts')?.[0];
  return {
    uid: number('uid'),
    architecture: text('architecture'),
    os: { id: text('os'), version: text('osVersion') },
    cpus: number('cpus'),
    memoryMiB: Math.floor(number('memoryKiB') / 1024),
    diskFreeGiB: Math.floor((number('diskFreeKiB') / 1024 ** 2) * 10) / 10,
    swapKiB: number('swapKiB'),
    timeMs: number('time'),
    hostname: text('hostname'),
    machineId: text('machineId'),
    init: text('init'),
    python: values.has('python'),
    ports: (values.get('port') ?? []).map(Number),
    leftovers: values.get('leftover') ?? [],
    owner: parseOwner(text('owner')),
    artifacts: artifacts === undefined ? undefined : artifacts === 'yes',
  };
}

function parseOwner(text: string): HostFacts['owner'] {
  if (text === '') return undefined;
  try {
    const { clusterId, released = false } = ownerSchema.parse(JSON.parse(text));
    return { clusterId, released };
  } catch {
    // Something stands there that is not ours to read: nobody may take the host until a person has looked.
    return { clusterId: 'unreadable', released: false };
  }
}
