import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fillArtifacts } from '../artifacts/fill.ts';
import { artifactsDir } from '../artifacts/places.ts';
import type { Say } from '../artifacts/progress.ts';
import { labDir } from '../hosts/places.ts';
import { labUp } from '../hosts/up.ts';
import { clientOf, readyNodes } from '../meta/cluster.ts';
import { askService } from '../meta/web.ts';
import { play } from '../play.ts';
import { withLab } from './lease.ts';
import { timings } from './timings.ts';

/** Runs the playbooks without the operator: hosts, a cluster on them, a Service that answers, and the removal. */
export const byHand = (say: Say): Promise<void> => withLab(false, say, () => throughPlaybooks(say));

async function throughPlaybooks(say: Say): Promise<void> {
  const clock = timings();
  const cluster = { name: 'hand', masters: ['lab-1'], workers: ['lab-2', 'lab-3'], leaving: [], attempt: 1 };
  await clock.measure('artifacts', () => fillArtifacts(artifactsDir, say));
  const hosts = await clock.measure('hosts', () => labUp(3, say));
  const sequence = Math.floor(Date.now() / 1000);
  await clock.measure('create.yml', () => play('create.yml', { ...cluster, sequence }, say));
  const client = await clientOf(await readFile(join(labDir, 'hand.kubeconfig'), 'utf8'));
  await clock.measure('a Service answers', async () => {
    process.stdout.write(`Ready: ${(await readyNodes(client)).join(', ')}\n`);
    process.stdout.write(`${await askService(client, hosts[1]?.ip ?? '')}\n`);
  });
  await client.close();
  const leaving = hosts.map(({ name }) => name);
  await clock.measure('terminate.yml', () =>
    play('terminate.yml', { ...cluster, masters: [], workers: [], leaving, sequence: sequence + 1 }, say),
  );
  clock.print();
}
