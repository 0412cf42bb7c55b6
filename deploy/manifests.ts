import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { sayOnStderr } from '#lab/artifacts/progress.ts';
import { helm } from '#lab/helm/helm.ts';

/**
 * Renders deploy/manifests from the chart, for bootstrap: `node deploy/manifests.ts`. So both install the same objects, and
 * bootstrap needs no Helm.
 */

const NAMESPACE = 'matryoshka-system';
const NOTE = '# Rendered from deploy/chart by "node deploy/manifests.ts".';
/** Tag of images in the bootstrap values: bootstrap names images itself. */
const TAG = ':bootstrap';

/** The namespace that `helm install` expects, and bootstrap creates. */
const OWN_NAMESPACE = `${NOTE}
apiVersion: v1
kind: Namespace
metadata:
  name: ${NAMESPACE}
  labels:
    pod-security.kubernetes.io/enforce: restricted
`;

const directory = join(import.meta.dirname, 'manifests');

/** Returns the text of each file of deploy/manifests. */
export async function renderedManifests(): Promise<Readonly<Record<string, string>>> {
  const args = ['template', 'matryoshka', join(import.meta.dirname, 'chart'), '--namespace', NAMESPACE];
  const { stdout } = await execa(await helm(sayOnStderr), [
    ...args,
    ...['--values', join(import.meta.dirname, 'bootstrap-values.yaml'), '--kube-version', '1.34.0'],
  ]);
  const files = new Map<string, string[]>();
  for (const document of stdout.split(/^---\n/m)) {
    const [, source, text] = /^# Source: matryoshka\/templates\/(\S+)\n([\s\S]*)$/.exec(document) ?? [];
    if (source === undefined || text === undefined || text.trim() === '') continue;
    files.set(source, [...(files.get(source) ?? []), `${text.trim().replaceAll(TAG, '')}\n`]);
  }
  const rendered = [...files].map(([name, documents]): [string, string] => [
    name,
    `${NOTE}\n${documents.join('---\n')}`,
  ]);
  return { ...Object.fromEntries(rendered), '00-namespace.yaml': OWN_NAMESPACE };
}

if (import.meta.main) {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory);
  for (const [name, text] of Object.entries(await renderedManifests()))
    writeFileSync(join(directory, name), text);
}
