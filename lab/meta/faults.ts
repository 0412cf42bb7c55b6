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

/** Outcomes of a promise: whether it was fulfilled. */
const EITHER = [() => true, () => false] as const;

const booted = ({ name }: LabHost): Promise<void> =>
  seen(`SSH on ${name}`, () => docker(['exec', name, 'systemctl', 'is-active', 'ssh']).then(...EITHER));

/**
 * Signals the processes on a host whose command line contains the text. With a variable (`NAME=value`), only processes that
 * have it. Returns false if there was none.
 */
async function signal(
  { name }: LabHost,
  which: string,
  commandLine: string,
  variable = '',
): Promise<boolean> {
  // The processes are listed before there is a pipe, whose parts have this command line for a moment too.
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

/** Faults for tests. Each does one thing to one of the lab's own hosts. */
export const faults = {
  kill: (host: LabHost, commandLine: string, variable = '') => signal(host, 'KILL', commandLine, variable),
  /** Stops these processes until `thaw` continues all that have the variable. */
  freeze: (host: LabHost, commandLine: string, variable: string) =>
    signal(host, 'STOP', commandLine, variable),
  /** Does not use a command line: a fork of Ansible may have become ssh before it was stopped. */
  thaw: (host: LabHost, variable: string) => signal(host, 'CONT', '.', variable),
  /** Whether a process with that command line runs there. */
  async runs({ name }: LabHost, commandLine: string): Promise<boolean> {
    return docker(['exec', name, 'pgrep', '-f', commandLine]).then(...EITHER);
  },
  /** Stops the kubelet: its pods continue, even if they are deleted. */
  hangKubelet: ({ name }: LabHost) => docker(['exec', name, 'pkill', '-STOP', '-x', 'kubelet']),
  thawKubelet: ({ name }: LabHost) => docker(['exec', name, 'pkill', '-CONT', '-x', 'kubelet']),
  stopSsh: ({ name }: LabHost) => docker(['exec', name, 'systemctl', 'stop', 'ssh']),
  startSsh: ({ name }: LabHost) => docker(['exec', name, 'systemctl', 'start', 'ssh']),
  /** Makes sshd accept connections and send nothing. */
  hangSsh: (host: LabHost) => signalSsh(host, 'STOP'),
  freeSsh: (host: LabHost) => signalSsh(host, 'CONT'),
  /** Stops its etcd member, while the host and all else on it answers. */
  hangEtcd: ({ name }: LabHost) => docker(['exec', name, 'pkill', '-STOP', '-x', 'etcd']),
  /** Continues the member, unless the kubelet has restarted it meanwhile. */
  freeEtcd: ({ name }: LabHost) => docker(['exec', name, 'sh', '-c', 'pkill -CONT -x etcd || true']),
  /** Makes the kubelet end the member. Unlike a hung member, it is not restarted. */
  stopEtcd: ({ name }: LabHost) =>
    docker(['exec', name, 'mv', '/etc/kubernetes/manifests/etcd.yaml', '/var/tmp/etcd.yaml']),
  /** Starts a member that `stopEtcd` stopped. */
  startEtcd: ({ name }: LabHost) =>
    docker([
      ...['exec', name, 'sh', '-c'],
      '[ ! -e /var/tmp/etcd.yaml ] || mv /var/tmp/etcd.yaml /etc/kubernetes/manifests/etcd.yaml',
    ]),
  stopScheduler: ({ name }: LabHost) =>
    docker(['exec', name, 'mv', '/etc/kubernetes/manifests/kube-scheduler.yaml', '/var/tmp/']),
  startScheduler: ({ name }: LabHost) =>
    docker(['exec', name, 'mv', '/var/tmp/kube-scheduler.yaml', '/etc/kubernetes/manifests/']),
  /** Tries until it succeeds: a container that starts processes all the time cannot be paused at once. */
  pause: ({ name }: LabHost) =>
    seen(`${name} frozen`, () => docker(['pause', name]).then(...EITHER), { boundMs: 60_000 }),
  unpause: ({ name }: LabHost) => docker(['unpause', name]),
  /** Cuts a pod of the host off from a TCP port of other pods. Traffic outside the pod network passes. */
  cutPod: ({ name }: LabHost, from: string, port: number) =>
    docker([
      'exec',
      name,
      'nft',
      `table inet fault { chain cut { type filter hook forward priority -10; ip saddr ${from} tcp dport ${port} drop; }; }`,
    ]),
  /** Drops packets from that address to these TCP ports of the host. Packets from the host pass. */
  cutFrom: ({ name }: LabHost, from: string, ...ports: number[]) =>
    docker([
      'exec',
      name,
      'nft',
      `table inet fault { chain cut { type filter hook input priority -10; ip saddr ${from} tcp dport { ${ports.join(', ')} } drop; }; }`,
    ]),
  /** Drops packets between these two hosts. All others reach both. */
  cutOff: ({ name }: LabHost, other: LabHost) =>
    docker([
      ...['exec', name, 'nft'],
      `table inet fault { chain in { type filter hook input priority -300; ip saddr ${other.ip} drop; }; chain out { type filter hook output priority -300; ip daddr ${other.ip} drop; }; }`,
    ]),
  /** Limits the host's space for images. */
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
  /** Removes this limit. The folder stays, and counts as older than the cluster: a reset only empties it. */
  growImages: ({ name }: LabHost) =>
    docker(['exec', name, 'sh', '-c', 'systemctl stop containerd; umount -R /var/lib/containerd; true']),
  /** Gives the host's SSH server other keys. The old ones are kept. */
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
  /** Limits the host to two thirds of one processor, with busy loops. Resolves when this is over. */
  async busy({ name }: LabHost, seconds: number): Promise<void> {
    // Unlimited loops would slow hosts of other labs.
    await docker(['update', '--cpus=0.66', name]);
    const loop = `timeout ${seconds} sh -c 'while :; do :; done'; [ $? = 124 ]`;
    try {
      await Promise.all([1, 2].map(() => docker(['exec', name, 'sh', '-c', loop], (seconds + 60) * 1_000)));
    } finally {
      // Docker cannot remove a limit, so this one allows all processors.
      await docker(['update', `--cpus=${availableParallelism()}`, name]);
    }
  },
  /** Makes the kubelet report a full disk, by a threshold above the free space. It writes nothing. */
  shortenDisk: (host: LabHost) => wantRoom(host, '99%'),
  /** Sets the threshold of lab/inventory-vars.yaml again. */
  lengthenDisk: (host: LabHost) => wantRoom(host, '1Gi'),
  /** Ends the host like a power cut. Its memory is lost. */
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
 * Waits, within a limit, for what no watch reports: a process or file of a host, or an API server that is away. Most probes
 * start programs on a host, so a caller that must not miss a moment sets the interval.
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

/** Returns the messages of the host's fence and of its scopes, in order. */
export const fenceJournal = ({ name }: LabHost): Promise<string> =>
  docker(['exec', name, 'sh', '-c', 'journalctl --no-pager | grep matryoshka-; true']);
