import { readFileSync } from 'node:fs';
import type { SshConnection } from '#ssh/connection.ts';

/** Where the fence stands on every host. */
export const FENCE_PATH = '/usr/local/sbin/matryoshka-fence';

/** Who may act on a host: a run of a lower sequence or attempt, or of another pod, is refused there. */
export interface Epoch {
  clusterId: string;
  sequence: number;
  attempt: number;
  podUid: string;
}

/** Awaiting a step that must not be cut may take as long as that step. */
const TAKE_TIMEOUT_MS = 12 * 60_000;

/** A host that refuses this run, in its own words. */
export class FenceRefusal extends Error {
  override name = 'FenceRefusal';
  readonly reason: string;

  constructor(ip: string, said: string) {
    const [, reason = 'HostConflict', detail = said] = /^(HostConflict|StaleRun): (.*)$/m.exec(said) ?? [];
    super(`${ip}: ${detail.trim()}`);
    this.reason = reason;
  }
}

/**
 * Puts the fence onto a host and takes it for this run: writes the epoch, ends what runs under lower ones, awaits what
 * must not be cut. Rejects with FenceRefusal. Values come from our own grammar (ids, numbers, a UID), so they need no
 * quoting. Source: docs/contract.md, Identity, The fence.
 */
export async function takeHost(
  connection: SshConnection,
  script: string,
  ip: string,
  epoch: Epoch,
  reclaim?: string,
): Promise<void> {
  const install = `umask 022; cat >${FENCE_PATH}.new && chmod 755 ${FENCE_PATH}.new && mv -f ${FENCE_PATH}.new ${FENCE_PATH}`;
  const installed = await connection.run(install, { input: script, timeoutMs: 30_000 });
  if (installed.code !== 0)
    throw new Error(`${ip}: the fence could not be written: ${installed.stderr.trim()}`);
  const words = [FENCE_PATH, 'take', epoch.clusterId, epoch.sequence, epoch.attempt, epoch.podUid];
  if (reclaim !== undefined) words.push('--reclaim', reclaim);
  const { code, stdout, stderr } = await connection.run(words.join(' '), { timeoutMs: TAKE_TIMEOUT_MS });
  if (code !== 0)
    throw new FenceRefusal(ip, `${stderr}\n${stdout}`.trim() || `the fence ended with code ${code}`);
}

export const readFence = (playbooks: string): string => readFileSync(`${playbooks}/files/fence`, 'utf8');
