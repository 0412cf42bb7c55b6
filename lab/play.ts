import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { artifactServer } from '#artifacts/serve.ts';
import { UsageError } from '#base/errors.ts';
import { artifactsDir } from './artifacts/places.ts';
import { labDir, network } from './hosts/places.ts';
import { type LabCluster, labInventory } from './inventory.ts';
import { operatorImages } from './operator-images.ts';

const PLAY_TIMEOUT_MS = 30 * 60_000;
const ansibleDir = join(import.meta.dirname, '..', 'ansible');

/** Runs a playbook of the checkout in the runner image against lab hosts, and serves the artifacts meanwhile. */
export async function play(
  playbook: string,
  cluster: Omit<LabCluster, 'artifactsUrl' | 'creates'>,
  say: (line: string) => void,
): Promise<void> {
  const { runner: image } = await operatorImages(say);
  const server = artifactServer(artifactsDir);
  const address = await server.listen({ host: network.gateway, port: 0 });
  try {
    await writeFile(
      join(labDir, 'inventory.yaml'),
      await labInventory({ ...cluster, creates: playbook === 'create.yml', artifactsUrl: address }),
    );
    const { exitCode } = await execa(
      'docker',
      [
        'run',
        '--rm',
        '--init',
        '--network=host',
        // By hand it is root's key that is used, and the playbook that is run, not the Job's program.
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
      { stdin: 'ignore', stdout: 'inherit', stderr: 'inherit', timeout: PLAY_TIMEOUT_MS, reject: false },
    );
    if (exitCode !== 0) throw new UsageError(`${playbook} ended with ${exitCode ?? 'a signal'}`);
  } finally {
    await server.close();
  }
}
