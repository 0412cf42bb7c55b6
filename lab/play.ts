import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { artifactServer } from '#artifacts/serve.ts';
import { UsageError } from '#base/errors.ts';
import { eventFrom, type RunEvent } from '#protocol/event.ts';
import { artifactsDir } from './artifacts/places.ts';
import { labDir, network } from './hosts/places.ts';
import { type LabCluster, labInventory } from './inventory.ts';
import { operatorImages } from './operator-images.ts';

const PLAY_TIMEOUT_MS = 30 * 60_000;
const ansibleDir = join(import.meta.dirname, '..', 'ansible');

/** Result of a run that reached its last play. */
export interface Played {
  /** Addresses of hosts that failed or did not answer, each with its last message. */
  failed: Map<string, string>;
  /** Results for each host, by address. */
  did: Map<string, string[]>;
}

/**
 * Runs a playbook of the checkout in the runner image against lab hosts, and serves the artifacts meanwhile. Rejects if the
 * run did not reach its last play.
 */
export async function play(
  playbook: string,
  cluster: Omit<LabCluster, 'artifactsUrl' | 'creates'>,
  say: (line: string) => void,
): Promise<Played> {
  const { runner: image } = await operatorImages(say);
  const server = artifactServer(artifactsDir);
  const address = await server.listen({ host: network.gateway, port: 0 });
  try {
    await writeFile(
      join(labDir, 'inventory.yaml'),
      await labInventory({ ...cluster, creates: playbook === 'create.yml', artifactsUrl: address }),
    );
    const { exitCode, stdout } = await execa(
      'docker',
      [
        'run',
        '--rm',
        '--init',
        '--network=host',
        // A run by hand uses root's key and starts the playbook, not the Job's program.
        '--user=0',
        '--entrypoint=/opt/ansible/bin/ansible-playbook',
        '--workdir=/opt/matryoshka/ansible',
        `--volume=${labDir}:/lab`,
        `--volume=${ansibleDir}:/opt/matryoshka/ansible:ro`,
        image,
        '-i',
        '/lab/inventory.yaml',
        playbook,
      ],
      {
        stdin: 'ignore',
        stdout: ['inherit', 'pipe'],
        stderr: 'inherit',
        timeout: PLAY_TIMEOUT_MS,
        reject: false,
      },
    );
    const events = stdout.split('\n').flatMap((line) => eventFrom(line, new Date()) ?? []);
    if (!events.some(({ event }) => event === 'complete'))
      throw new UsageError(`${playbook} ended with ${exitCode ?? 'a signal'}, and not at its end`);
    return played(events);
  } finally {
    await server.close();
  }
}

function played(events: readonly RunEvent[]): Played {
  const failed = new Map<string, string>();
  const did = new Map<string, string[]>();
  for (const { event, host = '', message = '', did: own = [], did_for: others = {} } of events) {
    if (event === 'failed' || event === 'unreachable') failed.set(host, message);
    for (const [address, words] of [[host, own] as const, ...Object.entries(others)])
      did.set(address, [...(did.get(address) ?? []), ...words]);
  }
  return { failed, did };
}
