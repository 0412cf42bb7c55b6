import { docker } from '../hosts/docker.ts';
import type { LabHost } from '../hosts/places.ts';

/** Cables that a test may pull. Each does one thing to one of the lab's own hosts. */
export const faults = {
  /** Kills processes on a host whose command line has the text, as `kill -9` does; false when there was none. */
  async kill({ name }: LabHost, commandLine: string): Promise<boolean> {
    const count = await docker([
      'exec',
      name,
      'sh',
      '-c',
      'pgrep -f "$1" | grep -vx $$ | xargs -r kill -9 && echo done',
      'sh',
      commandLine,
    ]).catch(() => '');
    return count.includes('done');
  },
  /** Whether a process of that command line runs there. */
  async runs({ name }: LabHost, commandLine: string): Promise<boolean> {
    return docker(['exec', name, 'pgrep', '-f', commandLine]).then(
      () => true,
      () => false,
    );
  },
  stopSsh: ({ name }: LabHost) => docker(['exec', name, 'systemctl', 'stop', 'ssh']),
  startSsh: ({ name }: LabHost) => docker(['exec', name, 'systemctl', 'start', 'ssh']),
  pause: ({ name }: LabHost) => docker(['pause', name]),
  unpause: ({ name }: LabHost) => docker(['unpause', name]),
  restart: ({ name }: LabHost) => docker(['restart', '-t', '1', name], 120_000),
};
