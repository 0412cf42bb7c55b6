import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { execa } from 'execa';
import { sleep } from '#base/clock.ts';
import { UsageError } from '#base/errors.ts';
import { announced, type Say } from '../artifacts/progress.ts';
import { ensureDocker } from './daemon.ts';
import { docker, dockerOrUndefined } from './docker.ts';
import { buildImage } from './image.ts';
import { ensurePackages } from './packages.ts';
import {
  hostsPath,
  ip6Of,
  keyPath,
  knownHostsPath,
  type LabHost,
  labDir,
  labHosts,
  network,
} from './places.ts';
import { raiseSysctls } from './sysctls.ts';

const SSH_TIMEOUT_MS = 60_000;

/** Creates the hosts 1 to `count`, and waits until each answers over SSH. Existing hosts stay unchanged. */
export async function labUp(count: number, say: Say): Promise<LabHost[]> {
  await mkdir(labDir, { recursive: true });
  await ensurePackages({ 'ssh-keygen': 'openssh-client' }, say);
  await ensureDocker(say);
  await raiseSysctls();
  if (!existsSync(keyPath)) {
    await execa('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'matryoshka-lab', '-f', keyPath]);
  }
  const image = await buildImage('matryoshka-lab-host', import.meta.dirname, say);
  await removeAbandoned(say);
  await ensureNetwork();
  const rights = await containerRights(image);
  const wanted = labHosts(count);
  await announced(say, `${count} hosts`, async () => {
    await Promise.all(wanted.map((host) => ensureHost(host, image, rights)));
    const running = (await docker(['ps', '--format={{.Names}}', `--filter=label=${network.name}`])).split(
      '\n',
    );
    // Hosts of an earlier call stay in the list.
    const hosts = labHosts(99).filter(({ name }) => running.includes(name));
    await writeFile(hostsPath, JSON.stringify(hosts, null, 1));
    const keys = await Promise.all(hosts.map(async (host) => `${host.ip} ${await hostKey(host)}`));
    await writeFile(knownHostsPath, `${keys.join('\n')}\n`);
    await Promise.all(hosts.map(answersOnSsh));
  });
  return wanted;
}

/** Creates an existing host again, with its name and addresses, and a new key. Other hosts stay unchanged. */
export async function remakeHost(host: LabHost): Promise<void> {
  await docker(['rm', '-f', '-v', host.name], 120_000);
  const image = await buildImage('matryoshka-lab-host', import.meta.dirname, () => {});
  await ensureHost(host, image, await containerRights(image));
  const isOther = (line: string) => line !== '' && !line.startsWith(`${host.ip} `);
  const others = (await readFile(knownHostsPath, 'utf8')).split('\n').filter(isOther);
  await writeFile(knownHostsPath, [...others, `${host.ip} ${await hostKey(host)}`, ''].join('\n'));
  await answersOnSsh(host);
}

/** Without it, answers from outside do not come back: a proxy there may answer for any address, also that of a Service. */
const NO_WAY_OUT = 'com.docker.network.bridge.enable_ip_masquerade=false';

/** Creates the network for both families. An IPv4-only network of an older lab is replaced if no host uses it. */
async function ensureNetwork(): Promise<void> {
  const families = await dockerOrUndefined(['network', 'inspect', '--format={{.EnableIPv6}}', network.name]);
  if (families === 'true') return;
  if (families !== undefined) {
    // Stopped hosts count, because they could not start again without their network.
    const users = await docker(['ps', '-aq', `--filter=network=${network.name}`]);
    if (users !== '')
      throw new UsageError(
        `the Docker network ${network.name} has no IPv6, and containers use it; run "make lab-down" first`,
      );
    await docker(['network', 'rm', network.name]);
  }
  await docker([
    'network',
    'create',
    '--ipv6',
    `--opt=${NO_WAY_OUT}`,
    `--subnet=${network.subnet}`,
    `--gateway=${network.gateway}`,
    `--subnet=${network.subnet6}`,
    `--gateway=${network.gateway6}`,
    network.name,
  ]);
}

/** Label that identifies the checkout of a host, because only that checkout's key opens it. */
const KEY_LABEL = `${network.name}.key`;
const keyOfCheckout = async () =>
  createHash('sha256')
    .update(await readFile(`${keyPath}.pub`))
    .digest('hex');

/**
 * Removes hosts of another checkout, which have our names and addresses and refuse our key. It removes only stopped ones,
 * for example after a restart of the machine. Throws if one runs, because another user may need that lab.
 */
async function removeAbandoned(say: Say): Promise<void> {
  const format = `--format={{.State}}\t{{.Label "${KEY_LABEL}"}}\t{{.Names}}`;
  const ours = await keyOfCheckout();
  const others = (await docker(['ps', '-a', format, `--filter=label=${network.name}`]))
    .split('\n')
    .map((line) => line.split('\t'))
    .filter(([, key, name]) => name !== undefined && key !== ours);
  const running = others.flatMap(([state, , name]) => (state === 'running' && name ? [name] : []));
  if (running.length > 0)
    throw new UsageError(
      `${running.join(', ')} run already and are the lab of another checkout, and a machine has the labs of one; end it by "make lab-down"`,
    );
  const names = others.flatMap(([, , name]) => name ?? []);
  if (names.length === 0) return;
  say(`removing ${names.length} stopped hosts of another checkout …`);
  await docker(['rm', '-f', '-v', ...names], 120_000);
}

/** Returns the privileges of a host: all, if the daemon has them all; otherwise all that it can give. */
async function containerRights(image: string): Promise<readonly string[]> {
  const privileged = ['run', '--rm', '--privileged', '--network=none', image, 'true'];
  if ((await dockerOrUndefined(privileged)) !== undefined) return ['--privileged'];
  return [
    '--cap-add=ALL',
    '--cap-drop=SYS_RESOURCE',
    '--security-opt=seccomp=unconfined',
    '--security-opt=apparmor=unconfined',
    '--security-opt=systempaths=unconfined',
    '--device-cgroup-rule=a *:* rwm',
  ];
}

async function ensureHost(host: LabHost, image: string, rights: readonly string[]): Promise<void> {
  const running = await dockerOrUndefined(['inspect', '--format', '{{.State.Running}}', host.name]);
  if (running === 'true') return;
  if (running === undefined) {
    await docker([
      'create',
      ...rights,
      `--name=${host.name}`,
      `--hostname=${host.name}`,
      `--label=${network.name}`,
      `--label=${KEY_LABEL}=${await keyOfCheckout()}`,
      `--network=${network.name}`,
      `--ip=${host.ip}`,
      `--ip6=${ip6Of(host)}`,
      // Docker disables IPv6 on every link but its own. Links of pods are created later.
      '--sysctl=net.ipv6.conf.all.disable_ipv6=0',
      '--sysctl=net.ipv6.conf.default.disable_ipv6=0',
      '--cgroupns=private',
      '--tmpfs=/run',
      '--tmpfs=/tmp',
      // A volume, because containerd's overlays cannot be on Docker's.
      '--volume=/var',
      image,
    ]);
    await docker(['cp', `${keyPath}.pub`, `${host.name}:/root/.ssh/authorized_keys`]);
  }
  await docker(['start', host.name]);
}

/** Returns the host's key. The host creates it at its first start, and it lasts as long as the container. */
async function hostKey(host: LabHost): Promise<string> {
  const read = ['exec', host.name, 'cat', '/etc/ssh/ssh_host_ed25519_key.pub'];
  return await until(`${host.name} has a host key`, async () => {
    // The parts are type, key and owner. The file exists and is empty before it is written.
    const [kind, key, ...whose] = (await dockerOrUndefined(read))?.split(' ') ?? [];
    return whose.length > 0 ? `${kind} ${key}` : undefined;
  });
}

function answersOnSsh(host: LabHost): Promise<true> {
  return until(
    `${host.name} answers on port 22`,
    () =>
      new Promise<true | undefined>((resolve) => {
        const socket = connect({ host: host.ip, port: 22, timeout: 1_000 });
        const end = (answer: true | undefined) => {
          socket.destroy();
          resolve(answer);
        };
        socket.once('data', () => end(true));
        socket.once('timeout', () => end(undefined));
        socket.once('error', () => end(undefined));
      }),
  );
}

async function until<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
  const start = performance.now();
  while (performance.now() - start < SSH_TIMEOUT_MS) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await sleep(200);
  }
  throw new Error(`not within ${SSH_TIMEOUT_MS / 1000} s: ${what}`);
}
