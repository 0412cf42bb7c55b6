import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { clusterHostsOf, isEtcdOnly } from '#api/cluster-host.ts';
import { nodeNameOf } from '#api/host.ts';
import { type KubernetesCluster, specSchema } from '#api/kubernetes-cluster.ts';
import { readyNodesOf } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byKubectl } from './by-kubectl.ts';

/** Clusters of `deploy/examples`, unchanged; each is the start of a test file. */

const folder = join(import.meta.dirname, '../../deploy/examples');
const CREATION_S = 600;
const KEYS = 'demo-keys';
const exampleSchema = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    annotations: z.record(z.string(), z.string()),
  }),
  spec: specSchema,
});

/** Returns the file with its example addresses (RFC 5737) replaced by lab hosts, in order. */
async function textOf(file: string, meta: Meta, hosts: readonly number[]): Promise<string> {
  const text = await readFile(join(folder, file), 'utf8');
  const theirs = [...new Set(text.match(/\b192\.0\.2\.\d+/g))];
  expect(hosts, `hosts for ${file}`).toHaveLength(theirs.length);
  const here = (index: number) => meta.hosts[hosts[index] ?? -1]?.ip ?? '';
  return theirs.reduce((all, ip, at) => all.replaceAll(new RegExp(`\\b${ip}\\b`, 'g'), here(at)), text);
}

/**
 * Creates the example's Secret, and lets the lab's user use it (docs/reference/credentials.md), because he requests changes
 * by REST.
 */
async function giveDemoKeys(meta: Meta): Promise<void> {
  const { giveKeys, run } = byKubectl(meta, '');
  await giveKeys(KEYS);
  const metadata = { namespace: 'default', name: 'uses-demo-keys' };
  const group = 'rbac.authorization.k8s.io';
  const [apiVersion, role] = [`${group}/v1`, { apiGroup: group, kind: 'Role', name: metadata.name }];
  const rules = [{ apiGroups: [''], resources: ['secrets'], resourceNames: [KEYS], verbs: ['get'] }];
  const subjects = [{ kind: 'ServiceAccount', namespace: 'default', name: 'lab-user' }];
  const items = [
    { apiVersion, kind: 'Role', metadata, rules },
    { apiVersion, kind: 'RoleBinding', metadata, roleRef: role, subjects },
  ];
  await run(['apply', '-f', '-'], { input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }) });
}

/** Returns the object of an example, on these hosts of the lane; its Secret exists. */
export async function exampleOf(
  file: string,
  meta: Meta,
  hosts: readonly number[],
): Promise<KubernetesCluster> {
  await giveDemoKeys(meta);
  return exampleSchema.parse(parse(await textOf(file, meta, hosts)));
}

/** Returns the names of the nodes that a cluster has by its spec, in order. */
export const nodesOfSpec = ({ spec }: KubernetesCluster): string[] =>
  [...clusterHostsOf(spec.cluster).values()]
    .filter((host) => !isEtcdOnly(host))
    .map(nodeNameOf)
    .sort();

/** Runs `kubectl apply -f` of an example on these hosts, and waits until all nodes are Ready. */
export async function makeExample(file: string, meta: Meta, hosts: readonly number[]): Promise<void> {
  const example = await exampleOf(file, meta, hosts);
  const { run, waitUpToDate } = byKubectl(meta, example.metadata.name ?? '');
  await run(['apply', '-f', '-'], { input: await textOf(file, meta, hosts) });
  await waitUpToDate(CREATION_S);
  expect(await readyNodesOf(meta, example.metadata.name ?? '')).toEqual(nodesOfSpec(example));
}
