import { writeFileSync } from 'node:fs';
import { messageOf } from '#base/errors.ts';
import { getKubeconfig } from '#rest/read-routes.ts';
import { clusterNamed } from './clusters.ts';
import { wrongUse } from './failure.ts';
import type { Io } from './io.ts';
import { type ConnectionOptions, withSession } from './session.ts';

/** Prints a kubeconfig, or writes it into a file that only its owner can read. */
export function fetchKubeconfig(
  name: string,
  { to, expires, ...options }: ConnectionOptions & { to?: string | undefined; expires?: number | undefined },
  io: Io,
): Promise<void> {
  return withSession(options, async (session) => {
    const { address } = await clusterNamed(session, name);
    const query = { ...address.query, expirationSeconds: expires };
    const { message } = await session.call(
      getKubeconfig,
      { params: address.params, query },
      { expirationSeconds: '--expires' },
    );
    if (to === undefined) {
      io.print(message.trimEnd());
      return;
    }
    try {
      writeFileSync(to, message, { mode: 0o600, flag: 'wx' });
    } catch (error) {
      const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST';
      throw wrongUse(
        exists ? `--to: ${to} exists; remove it, or name another file` : `--to: ${to}: ${messageOf(error)}`,
      );
    }
    io.note(`kubectl --kubeconfig ${to} get nodes`);
  });
}
