import { messageOf } from '#base/errors.ts';
import type { RunSpec } from '#protocol/run-spec.ts';
import type { SshTarget } from '#ssh/command.ts';
import { connect } from '#ssh/connection.ts';
import { checkedHosts } from './checked-hosts.ts';
import type { Settings } from './settings.ts';

const CONNECT_MS = 5_000;
const ANSWER_MS = 10_000;

/** Returns the fence's identity of a run: cluster, sequence, attempt and pod. */
const epochOf = ({ cluster, run }: RunSpec, podUid: string): string =>
  `${cluster.id} ${run.sequence} ${run.attempt} ${podUid}`;

/**
 * Returns a function that ends the commands of this run on hosts through their fences, which then reject further ones.
 * Protected steps continue, as does a script that waits for one. `say` reports hosts that do not answer.
 */
export function cutOffOn(
  settings: Settings,
  knownHosts: string,
  say: (message: string, host: string) => void,
): (ips: readonly string[]) => Promise<void> {
  const targets = new Map(checkedHosts(settings).map(({ ip, target }) => [ip, target]));
  const command = `/usr/local/sbin/matryoshka-fence stop ${epochOf(settings.runSpec, settings.POD_UID)}`;
  const stop = async (ip: string, target: SshTarget): Promise<void> => {
    try {
      const connection = await connect({ ...target, knownHosts, timeoutMs: CONNECT_MS });
      try {
        const { stdout, stderr } = await connection.run(command, { timeoutMs: ANSWER_MS });
        say(`the fence: ${`${stdout}${stderr}`.trim().replaceAll('\n', '; ') || 'nothing ran'}`, ip);
      } finally {
        connection.close();
      }
    } catch (error) {
      say(`what runs there could not be ended: ${messageOf(error)}`, ip);
    }
  };
  return async (ips) => {
    await Promise.all(
      ips.map((ip) => {
        const target = targets.get(ip);
        return target && stop(ip, target);
      }),
    );
  };
}
