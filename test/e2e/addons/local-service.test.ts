import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { nodeNameOf } from '#api/host.ts';
import { kubectl } from '#lab/kubectl.ts';
import { installAddon } from '#lab/meta/addon.ts';
import { readyNodesOf, untilDone } from '#lab/meta/cluster.ts';
import { seen } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byNumber } from '../by-number.ts';
import { enterLane } from '../lanes.ts';

/** docs/localservice.md on a cluster that the operator created: each node's Service is answered by that node's pod. */
const { name: NAME, kubeconfigPath } = inject('addons');
const PATH = `/region/lab/cluster/${NAME}`;
const NAMESPACE = 'local';
const OPERATION_MS = 480_000;
const EXAMPLE = join(import.meta.dirname, '../../../deploy/addons/examples/localservice.yaml');

let meta: Meta;
beforeAll(async () => {
  meta = await enterLane();
  await inside(['create', 'namespace', NAMESPACE]);
});
afterAll(async () => {
  // No need to wait for its pods, which ignore SIGTERM.
  await inside(['delete', 'namespace', NAMESPACE, '--wait=false']);
  await meta.close();
});

const { entries, host, nodes, sh } = byNumber(() => meta);
const inside = (args: readonly string[], input?: string) =>
  kubectl(kubeconfigPath, ['-n', NAMESPACE, ...args], input === undefined ? {} : { input });
const nodeOf = (index: number) => nodeNameOf({ ip: host(index).ip });

/** Pods on every node that respond with the node's name. */
const demo = (image: string) => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'demo' },
  spec: {
    selector: { matchLabels: { app: 'demo' } },
    template: {
      metadata: { labels: { app: 'demo' } },
      spec: {
        tolerations: [{ operator: 'Exists' }],
        containers: [
          {
            name: 'web',
            image,
            imagePullPolicy: 'IfNotPresent',
            command: ['/usr/local/bin/node', '-e'],
            args: ["require('http').createServer((_q, a) => a.end(process.env.NODE)).listen(8080)"],
            env: [{ name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }],
            readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1 },
          },
        ],
      },
    },
  },
});

/** Returns the pod that answers the Service of a node, asked from a host; '' if none does. */
async function answerOf(node: string, from: number): Promise<string> {
  const address = await inside([
    'get',
    'service',
    `demo-${node}`,
    '--ignore-not-found',
    '-o',
    'jsonpath={.spec.clusterIP}',
  ]);
  if (address === '') return '';
  return sh(from, `curl -sf -m 2 http://${address}:8080 || true`);
}
const untilAnswered = (indices: readonly number[]) =>
  seen('each node to answer for itself, asked from each', async () => {
    for (const from of indices)
      for (const index of indices) if ((await answerOf(nodeOf(index), from)) !== nodeOf(index)) return false;
    return true;
  });

describe('LocalService on a cluster', () => {
  it('routes to the pods of each node, from every node', async () => {
    const { image } = await installAddon('localservice', kubeconfigPath, [host(0), host(1)]);
    await inside(['apply', '-f', '-'], JSON.stringify(demo(image)));
    await inside(['apply', '-f', '-'], await readFile(EXAMPLE, 'utf8'));
    await untilAnswered([0, 1]);
  });

  it('follows a node that joins, and a node that leaves', async () => {
    expect(await meta.rest.raw('POST', `${PATH}/scaleup`, { nodeList: entries(1, 2) })).toMatchObject({
      status: 200,
    });
    await untilDone(meta, NAME, OPERATION_MS);
    await installAddon('localservice', kubeconfigPath, [host(2)]);
    await untilAnswered([0, 1, 2]);
    expect(await meta.rest.raw('POST', `${PATH}/scaledown`, { nodeList: entries(1) })).toMatchObject({
      status: 200,
    });
    await untilDone(meta, NAME, OPERATION_MS);
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1));
    await seen(
      'the Service of the node that went to go',
      async () =>
        (await inside(['get', 'services', '-l', 'owner=demo', '-o', 'name'])).trim() ===
        [0, 1].map((index) => `service/demo-${nodeOf(index)}`).join('\n'),
    );
    expect(await inside(['get', 'localservice', 'demo'])).toMatch(/demo\s+True\s+2\s+2\s/);
  });

  it('is deleted with its Services', async () => {
    await inside(['delete', 'localservice', 'demo']);
    await seen(
      'its Services to go',
      async () => (await inside(['get', 'services', '-l', 'owner=demo', '-o', 'name'])) === '',
    );
  });
});
