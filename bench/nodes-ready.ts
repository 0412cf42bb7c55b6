import { join } from 'node:path';
import { execa } from 'execa';
import { sleep } from '#base/clock.ts';
import { labReleases } from '#lab/artifacts/lab-releases.ts';
import { artifactsDir } from '#lab/artifacts/places.ts';

const kubectl = join(artifactsDir, `dl.k8s.io/release/${labReleases[0].kubernetes}/bin/linux/amd64/kubectl`);
const CALL_MS = 10_000;
const WAIT_MS = 120_000;
const CHECK_MS = 200;
const QUESTION =
  'jsonpath={range .items[*]}{.metadata.name}={.status.conditions[?(@.type=="Ready")].status}{"\\n"}{end}';

/**
 * Waits for the end of a creation, in the same way for both sides: kubectl lists this number of nodes, all of them Ready.
 */
export async function nodesReady(kubeconfigPath: string, count: number): Promise<void> {
  const until = performance.now() + WAIT_MS;
  for (;;) {
    const args = ['--kubeconfig', kubeconfigPath, 'get', 'nodes', '-o', QUESTION];
    const { stdout, stderr, failed } = await execa(kubectl, args, {
      stdin: 'ignore',
      timeout: CALL_MS,
      reject: false,
    });
    const nodes = stdout.split('\n').filter((line) => line !== '');
    if (!failed && nodes.length === count && nodes.every((line) => line.endsWith('=True'))) return;
    if (performance.now() > until)
      throw new Error(`not ${count} Ready nodes within ${WAIT_MS / 1000} s: ${nodes.join(' ')} ${stderr}`);
    await sleep(CHECK_MS);
  }
}
