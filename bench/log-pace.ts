import type { Uplink } from '#ansibleinit/uplink.ts';
import { sleep } from '#base/clock.ts';

/** Log rate of a creation: some seven lines a second. */
export const LINES_PER_SECOND = 7;

/** Writes log lines for some seconds as a run does, in this number of steps. Returns the bytes of the log. */
export async function logFor(
  uplink: Uplink,
  { seconds, steps }: { seconds: number; steps: number },
  onLine: (number: number) => Promise<void> | void = () => {},
): Promise<number> {
  const lines = seconds * LINES_PER_SECOND;
  let bytes = 0;
  for (let number = 0; number < lines; number += 1) {
    uplink.step(`Step ${Math.floor((number * steps) / lines)}`);
    const event = {
      time: new Date().toISOString(),
      event: 'ok' as const,
      host: '192.0.2.11',
      task: 'Host, runtime and kubelet',
      seconds: 1.25,
      message: 'changed: /etc/systemd/system/kubelet.service changed: /etc/containerd/config.toml',
    };
    bytes += Buffer.byteLength(`${JSON.stringify(event)}\n`);
    uplink.send(event);
    await onLine(number);
    await sleep(1000 / LINES_PER_SECOND);
  }
  return bytes;
}
