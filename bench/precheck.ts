import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { parseArgs } from 'node:util';
import ssh2 from 'ssh2';
import { z } from 'zod';
import { keyPair } from '#base/testing/key-pair.ts';
import { checks } from '#precheck/index.ts';
import { limitsOf } from '#precheck/limits.ts';
import { type PrecheckHost, precheck } from '#precheck/run.ts';

/**
 * Prechecks a cluster of 1,000 hosts: SSH servers on loopback addresses, in separate processes. Some of them accept a
 * connection and never respond. Fails if an answering host is not reached, or a figure misses its bound.
 *
 *     node bench/precheck.ts [--hosts 1000] [--silent 10]
 */
const MOST_SECONDS = 150;
const MOST_MIB = 512;
const PROCESSES = 2;
const PORT = 20_022;
const SCRIPT_MS = 150;
const CONNECT_MS = 15_000;

const address = (index: number): string => `127.1.${Math.floor(index / 250)}.${(index % 250) + 1}`;
const hostsMessage = z.object({ first: z.number(), step: z.number(), count: z.number(), silent: z.number() });

/** Returns the output of a good host for all checks. */
const answerOf = (index: number): string =>
  checks
    .flatMap(({ good }) => good.split('\n'))
    .map((line) =>
      line
        .replace('@machineId id-a', `@machineId id-${index}`)
        .replace('10.0.0.1/24', `${address(index)}/24`)
        .replace(/^@time .*/, `@time ${Date.now()}`),
    )
    .join('\n');

async function serve({ first, step, count, silent }: z.infer<typeof hostsMessage>): Promise<void> {
  const { private: hostKey } = keyPair();
  for (let index = first; index < count; index += step) {
    const server =
      index < silent
        ? createServer((socket) => socket.resume().on('error', () => {}))
        : new ssh2.Server({ hostKeys: [hostKey] }, (client) => {
            client.on('authentication', (attempt) => attempt.accept());
            client.on('error', () => {});
            client.on('session', (accept) => {
              accept().on('exec', (acceptExec, _reject, { command }) => {
                // The markers around the output (src/ssh/framed.ts).
                const marker = /matryoshka-[0-9a-f]{24}/.exec(command)?.[0];
                const channel = acceptExec();
                channel.resume();
                channel.on('end', () =>
                  setTimeout(() => {
                    channel.write(`${marker}\n${answerOf(index)}\n${marker} 0\n`);
                    channel.exit(0);
                    channel.end();
                  }, SCRIPT_MS),
                );
              });
            });
          });
    await new Promise<void>((resolve) => {
      server.listen(PORT, address(index), () => resolve());
    });
  }
}

async function measure(count: number, silent: number): Promise<void> {
  const children: ChildProcess[] = [];
  try {
    for (let first = 0; first < PROCESSES; first++) {
      const child = fork(import.meta.filename, ['--serve'], { stdio: 'inherit' });
      children.push(child);
      child.send({ first, step: PROCESSES, count, silent });
    }
    await Promise.all(children.map((child) => once(child, 'message')));
    const hosts = Array.from({ length: count }, (_, index): PrecheckHost => {
      const ip = address(index);
      const target = {
        host: ip,
        port: PORT,
        user: 'root',
        password: 'x',
        knownHosts: '',
        timeoutMs: CONNECT_MS,
      };
      return { name: `h${index}`, ip, role: 'worker', clusterId: 'bench', target };
    });
    const began = performance.now();
    const { problems } = await precheck(hosts, checks, { limits: limitsOf(checks, {}) });
    const seconds = (performance.now() - began) / 1000;
    const mib = process.resourceUsage().maxRSS / 1024;
    const mute = new Set(hosts.slice(0, silent).map(({ ip }) => ip));
    const unexpected = problems.filter(({ ip }) => !mute.has(ip));
    for (const { ip, check, message } of unexpected.slice(0, 10))
      process.stdout.write(`${ip}: ${check}: ${message}\n`);
    process.stdout.write(
      `precheck of ${count} hosts, ${silent} of them silent: ${seconds.toFixed(1)} s, ${mib.toFixed(0)} MiB, ` +
        `${problems.length - unexpected.length} named as they are, ${unexpected.length} named wrongly\n`,
    );
    const held = seconds < MOST_SECONDS && mib < MOST_MIB && unexpected.length === 0;
    if (!held || problems.length - unexpected.length !== silent) process.exitCode = 1;
  } finally {
    for (const child of children) child.kill();
  }
}

const { values } = parseArgs({
  options: { hosts: { type: 'string' }, silent: { type: 'string' }, serve: { type: 'boolean' } },
});
if (values.serve) {
  const [message] = await once(process, 'message');
  await serve(hostsMessage.parse(message));
  process.send?.('listening');
} else {
  await measure(Number(values.hosts ?? 1000), Number(values.silent ?? 10));
}
