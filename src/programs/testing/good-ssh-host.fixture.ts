import { spawn } from 'node:child_process';
import { checks } from '#precheck/index.ts';
import { type SshHost, sshHost } from '#ssh/testing/ssh-host.ts';

/** Starts a host that answers like a good one, with some lines replaced. */
export function goodHost(...lines: string[]): Promise<SshHost> {
  const key = (line: string) => line.split(' ')[0];
  return sshHost('grants', (command) => {
    const marker = /matryoshka-[0-9a-f]{24}/.exec(command)?.[0] ?? '';
    const own = [`@time ${Date.now()}`, '@address lo 127.0.0.1/8 scope host lo', ...lines];
    const good = checks
      .flatMap((check) => check.good.split('\n'))
      .filter((line) => !own.some((one) => key(one) === key(line)));
    const answer = [marker, ...good, ...own, `${marker} 0`, ''].join('\n');
    return spawn('/bin/sh', ['-c', 'cat > /dev/null; printf %s "$0"', answer]);
  });
}
