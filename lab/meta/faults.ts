import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { docker } from '../hosts/docker.ts';
import type { LabHost } from '../hosts/places.ts';

const wantRoom = ({ name }: LabHost, room: string) =>
  docker([
    ...['exec', name, 'sh', '-ec'],
    `sed -i 's/nodefs.available: .*/nodefs.available: ${room}/' /var/lib/kubelet/config.yaml; systemctl restart kubelet`,
  ]);

const signalSsh = ({ name }: LabHost, signal: string) =>
  docker(['exec', name, 'sh', '-c', `kill -${signal} "$(systemctl show -p MainPID --value ssh)"`]);

/** Whether something succeeds. */
const EITHER = [() => true, () => false] as const;

const booted = ({ name }: LabHost): Promise<void> =>
  seen(`SSH on ${name}`, () => docker(['exec', name, 'systemctl', 'is-active', 'ssh']).then(...EITHER));

/**
 * Signals processes on a host whose command line has the text, and where it is given only those with that variable
 * (`NAME=value`); false when there was none.
 */
async function signal(
  { name }: LabHost,
  which: string,
  commandLine: string,
  variable = '',
): Promise<boolean> {
  // Found before there is a pipe: its parts have this command line as well for a moment, and are gone then.
  const script = `killed= those=
    pids=$(pgrep -f "$1")
    [ -z "$2" ] || those=" $(cd /proc && grep -lszxFe "$2" [0-9]*/environ | tr '\\n' ' ')"
    for pid in $pids; do
      [ "$pid" != $$ ] || continue
      case "$those" in '' | *" $pid/environ "*) ;; *) continue ;; esac
      ! kill -s "$3" "$pid" 2>/dev/null || killed=1
    done
    [ -z "$killed" ] || echo done`;
  const command = ['exec', name, 'sh', '-c', script, 'sh', commandLine, variable, which];
  return (await docker(command)).includes('done');
}

/** Cables that a test may pull. Each does one thing to one of the lab's own hosts. */
export const faults = {
  kill: (host: LabHost, commandLine: string, variable = '') => signal(host, 'KILL', commandLine, variable),
  /** Such processes go no further until all that have the variable are thawed. */
  freeze: (host: LabHost, commandLine: string, variable: string) =>
    signal(host, 'STOP', commandLine, variable),
  /** Not by a command line: one that was found as a fork of Ansible may have become ssh before it was stopped. */
  thaw: (host: LabHost, variable: string) => signal(host, 'CONT', '.', variable),
  /** Whether a process of that command line runs there. */
  async runs({ name }: LabHost, commandLine: string): Promise<boolean> {
    return docker(['exec', name, 'pgrep', '-f', commandLine]).then(...EITHER);
  },
  /** A kubelet that says and does nothing: its pods run on, though they are deleted. */
  hangKubelet: ({ name }: LabHost) => docker(['exec', name, 'pkill', '-STOP', '-x', 'kubelet']),
  thawKubelet: ({ name }: LabHost) => docker(['exec', name, 'pkill', '-CONT', '-x', 'kubelet']),
  stopSsh: ({ name }: LabHost) => docker(['exec', name, 'systemctl', 'stop', 'ssh']),
  startSsh: ({ name }: LabHost) => docker(['exec', name, 'systemctl', 'start', 'ssh']),
  /** Connections are taken, and nothing is said on them. */
  hangSsh: (host: LabHost) => signalSsh(host, 'STOP'),
  freeSsh: (host: LabHost) => signalSsh(host, 'CONT'),
  /** Its member of etcd says nothing more, while the host and everything else on it answers. */
  hangEtcd: ({ name }: LabHost) => docker(['exec', name, 'pkill', '-STOP', '-x', 'etcd']),
  /** Its kubelet may have started it anew meanwhile. */
  freeEtcd: ({ name }: LabHost) => docker(['exec', name, 'sh', '-c', 'pkill -CONT -x etcd || true']),
  /** Its kubelet ends it and, unlike one that hangs, does not start it anew. */
  stopEtcd: ({ name }: LabHost) =>
    docker(['exec', name, 'mv', '/etc/kubernetes/manifests/etcd.yaml', '/var/tmp/etcd.yaml']),
  /** Where it was stopped. */
  startEtcd: ({ name }: LabHost) =>
    docker([
      ...['exec', name, 'sh', '-c'],
      '[ ! -e /var/tmp/etcd.yaml ] || mv /var/tmp/etcd.yaml /etc/kubernetes/manifests/etcd.yaml',
    ]),
  stopScheduler: ({ name }: LabHost) =>
    docker(['exec', name, 'mv', '/etc/kubernetes/manifests/kube-scheduler.yaml', '/var/tmp/']),
  startScheduler: ({ name }: LabHost) =>
    docker(['exec', name, 'mv', '/var/tmp/kube-scheduler.yaml', '/etc/kubernetes/manifests/']),
  /** Tried until it holds: one that begins processes all the time is not frozen at once. */
  pause: ({ name }: LabHost) =>
    seen(`${name} frozen`, () => docker(['pause', name]).then(...EITHER), { boundMs: 60_000 }),
  unpause: ({ name }: LabHost) => docker(['unpause', name]),
  /** A pod of the host no longer reaches a TCP port of other pods; what lies beside the pod network still does. */
  cutPod: ({ name }: LabHost, from: string, port: number) =>
    docker([
      'exec',
      name,
      'nft',
      `table inet fault { chain cut { type filter hook forward priority -10; ip saddr ${from} tcp dport ${port} drop; }; }`,
    ]),
  /** What comes from that address to these TCP ports of the host is lost; what the host sends is not. */
  cutFrom: ({ name }: LabHost, from: string, ...ports: number[]) =>
    docker([
      'exec',
      name,
      'nft',
      `table inet fault { chain cut { type filter hook input priority -10; ip saddr ${from} tcp dport { ${ports.join(', ')} } drop; }; }`,
    ]),
  /** What this host and that one send each other is lost; all others reach both. */
  cutOff: ({ name }: LabHost, other: LabHost) =>
    docker([
      ...['exec', name, 'nft'],
      `table inet fault { chain in { type filter hook input priority -300; ip saddr ${other.ip} drop; }; chain out { type filter hook output priority -300; ip daddr ${other.ip} drop; }; }`,
    ]),
  /** The host has so little room for images. */
  shrinkImages: ({ name }: LabHost, megabytes: number) =>
    docker([
      ...['exec', name, 'sh', '-ec'],
      `mkdir -p /var/lib/containerd; mount -t tmpfs -o size=${megabytes}m tmpfs /var/lib/containerd`,
    ]),
  /** Whether a run holds the host. */
  isTaken: ({ name }: LabHost): Promise<boolean> =>
    docker(['exec', name, 'grep', '-q', '"released":false', '/etc/matryoshka/owner.json']).then(
      () => true,
      () => false,
    ),
  /** The folder stays, as somebody's: a reset empties it. */
  growImages: ({ name }: LabHost) =>
    docker(['exec', name, 'sh', '-c', 'systemctl stop containerd; umount -R /var/lib/containerd; true']),
  /** The host shows other keys to SSH; the old ones are kept. */
  changeHostKeys: ({ name }: LabHost) =>
    docker([
      ...['exec', name, 'sh', '-ec'],
      'mkdir /root/keys; mv /etc/ssh/ssh_host_* /root/keys; ssh-keygen -qA; systemctl restart ssh',
    ]),
  restoreHostKeys: ({ name }: LabHost) =>
    docker([
      ...['exec', name, 'sh', '-ec'],
      'rm -f /etc/ssh/ssh_host_*; mv /root/keys/* /etc/ssh/; rmdir /root/keys; systemctl restart ssh',
    ]),
  /** Undoes cutPod, cutFrom and cutOff. */
  mend: ({ name }: LabHost) => docker(['exec', name, 'nft', 'delete', 'table', 'inet', 'fault']),
  /** Leaves the host two thirds of one processor, and loops that take what they can of it; resolves when it is over. */
  async busy({ name }: LabHost, seconds: number): Promise<void> {
    // Loops of a whole machine would be for hosts of other labs to bear.
    await docker(['update', '--cpus=0.66', name]);
    const loop = `timeout ${seconds} sh -c 'while :; do :; done'; [ $? = 124 ]`;
    try {
      await Promise.all([1, 2].map(() => docker(['exec', name, 'sh', '-c', loop], (seconds + 60) * 1_000)));
    } finally {
      // Nothing takes a limit away again, but one that is none.
      await docker(['update', `--cpus=${availableParallelism()}`, name]);
    }
  },
  /** The host's kubelet takes its disk for full, since it wants more room than there is; nothing is written there. */
  shortenDisk: (host: LabHost) => wantRoom(host, '99%'),
  /** The room that lab/inventory-vars.yaml wants. */
  lengthenDisk: (host: LabHost) => wantRoom(host, '1Gi'),
  /** As if its power were gone; what it had in memory is lost. */
  powerOff: ({ name }: LabHost) => docker(['kill', '--signal=KILL', name]),
  async powerOn(host: LabHost): Promise<void> {
    await docker(['start', host.name]);
    await booted(host);
  },
  async restart(host: LabHost): Promise<void> {
    await docker(['restart', '-t', '1', host.name], 120_000);
    await booted(host);
  },
};

/**
 * Awaits what no watch tells: a process or a file of a host, or an API server that is away; bounded. Most looks begin
 * programs on a host, so whoever must not miss a moment says how often.
 */
export async function seen(
  what: string,
  holds: () => Promise<boolean>,
  { everyMs = 1_000, boundMs = 180_000 } = {},
): Promise<void> {
  const end = performance.now() + boundMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`not seen within ${boundMs / 1000} s: ${what}`);
    await sleep(everyMs);
  }
}

/** What the host's fence and its scopes said, in their order. */
export const fenceJournal = ({ name }: LabHost): Promise<string> =>
  docker(['exec', name, 'sh', '-c', 'journalctl --no-pager | grep matryoshka-; true']);
