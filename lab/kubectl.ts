import { join } from 'node:path';
import { execa } from 'execa';
import { labReleases } from './artifacts/lab-releases.ts';
import { artifactsDir } from './artifacts/places.ts';

/** Path of kubectl in the artifacts, for the Kubernetes that the lab installs. */
export const kubectlPath = join(
  artifactsDir,
  `dl.k8s.io/release/${labReleases[0].kubernetes}/bin/linux/amd64/kubectl`,
);

/** Runs kubectl like a user, and returns its standard output. Throws with its message if it fails. */
export async function kubectl(
  kubeconfig: string,
  args: readonly string[],
  { input = '', timeoutMs = 60_000 } = {},
): Promise<string> {
  const options = { input, timeout: timeoutMs };
  return (await execa(kubectlPath, ['--kubeconfig', kubeconfig, ...args], options)).stdout;
}
