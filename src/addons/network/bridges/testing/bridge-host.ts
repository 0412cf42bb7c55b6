import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { sshHost } from '#ssh/testing/ssh-host.ts';
import type { Place } from '../provider.ts';

export interface BridgeHost extends AsyncDisposable {
  readonly place: Place;
  /** Runs a command line on the host; returns its output. */
  sh(command: string): Promise<string>;
  /**
   * Connects another machine by a cable: to a separate link with the host's address, or to a bridge. The machine's default
   * route goes through the host.
   */
  plug(name: string, hostAddressOrBridge: string, address: string): Promise<Plugged>;
  /** Returns the text of a file on the host. */
  text(path: string): Promise<string>;
  /** Closes every connection to the host. */
  hangUp(): Promise<void>;
}

export interface Plugged {
  /** Whether an address answers a packet: a machine refuses a port without a listener. */
  reaches(address: string): Promise<boolean>;
}

/** Returns the reason why this machine cannot run such a host; undefined if it can. */
export async function lackOfHosts(): Promise<string | undefined> {
  // Given several names, some shells check the first one only.
  const tools =
    'for tool in unshare nsenter ip nft bash flock; do command -v $tool || exit 1; done; unshare -n true';
  const found = await execa('sh', ['-c', tools], { reject: false });
  return found.exitCode === 0 ? undefined : 'network namespaces, ip and nft, as root';
}

/** Returns a command line that runs in the network of a process. */
const within = (pid: number | undefined, command: string): readonly [string, string[]] => [
  'nsenter',
  [`--net=/proc/${pid}/ns/net`, '/bin/sh', '-c', command],
];

/**
 * Starts a host with a separate network: a network namespace of the kernel, a folder for its files, an SSH server into both.
 * Its bridges are real, and disappear with it.
 */
export async function bridgeHost(): Promise<BridgeHost> {
  const root = await mkdtemp(join(tmpdir(), 'bridge-host-'));
  // The holder ends with its standard input, and so with this process.
  const holder = spawn('unshare', ['--net', 'sh', '-c', 'echo; exec cat'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  // Until its first output it is still in the network of this machine.
  await once(holder.stdout, 'data');
  const roots = { MATRYOSHKA_ROOT: root, MATRYOSHKA_FENCE_ROOT: root };
  const env = { ...process.env, ...roots };
  const inside = (command: string) => within(holder.pid, command);
  // A command gets no environment of its host, so the variables that make a folder a host are added.
  const kept = Object.entries(roots).map(([name, value]) => `${name}=${value}`);
  const ssh = await sshHost('grants', (command) =>
    spawn(...inside(command.replace('env -i ', `env -i ${kept.join(' ')} `)), { env }),
  );
  const sh = async (command: string) => (await execa(...inside(command), { env })).stdout;
  await sh(
    'ip link set lo up; ip link add uplink type veth peer name beyond; ip link set beyond up; ip link set uplink up; ' +
      'ip addr add 192.0.2.10/24 dev uplink; sysctl -qw net.ipv4.ip_forward=0',
  );
  const plugged: ChildProcess[] = [];
  async function plug(name: string, to: string, address: string): Promise<Plugged> {
    const machine = spawn('unshare', ['--net', 'sh', '-c', 'echo; exec cat'], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    await once(machine.stdout, 'data');
    plugged.push(machine);
    await sh(`ip link add ${name} type veth peer name eth0 netns ${machine.pid}; ip link set ${name} up`);
    const isLink = to.includes('/');
    await sh(isLink ? `ip addr add ${to} dev ${name}` : `ip link set ${name} master ${to}`);
    const gateway = isLink ? to : await sh(`ip -o -4 addr show dev ${to} | awk '{ print $4 }'`);
    const there = (command: string) => execa(...within(machine.pid, command), { reject: false });
    await there(
      `ip link set lo up; ip link set eth0 up; ip addr add ${address} dev eth0; ip route add default via ${gateway.split('/')[0]}`,
    );
    return {
      async reaches(target) {
        const { stderr } = await there(`timeout 2 bash -c '</dev/tcp/${target}/9'`);
        return stderr.includes('Connection refused');
      },
    };
  }
  const { host: ip, port, user, password, knownHosts } = ssh.target('root', 'x');
  return {
    place: { ip, port, user, password, knownHosts },
    sh,
    plug,
    hangUp: ssh.hangUp,
    text: (path) => readFile(join(root, path), 'utf8'),
    async [Symbol.asyncDispose]() {
      await ssh[Symbol.asyncDispose]();
      for (const { stdin } of plugged) stdin?.end();
      holder.stdin.end();
      await rm(root, { recursive: true, force: true });
    },
  };
}
