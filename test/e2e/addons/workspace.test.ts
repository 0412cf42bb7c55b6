import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type LabBrowser, openBrowser } from '#lab/browser/browser.ts';
import { EDITOR_PORT, editorImage } from '#lab/editor/image.ts';
import { type PythonClient, pythonClient } from '#lab/grpc/python-client.ts';
import { kubectl } from '#lab/kubectl.ts';
import { installAddon, loadImage } from '#lab/meta/addon.ts';
import { seen } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byNumber } from '../by-number.ts';
import { enterLane } from '../lanes.ts';

/**
 * docs/workspace.md on a cluster that the operator created: a stock Python client requests an editor, and a browser opens
 * it.
 */
const { kubeconfigPath } = inject('addons');
const NAMESPACE = 'matryoshka-workspace';
const SERVER = 'matryoshka-workspace-server';
const GRPC_PORT = 32_387;
const EDITOR_NODE_PORT = 32_388;
const IMAGE = 'docker.io/matryoshka/editor:e2e';
const TEXT = 'written in a browser';
const PAGE_MS = 60_000;
const say = (line: string) => process.stderr.write(`${line}\n`);

let meta: Meta;
let dir = '';
let python: PythonClient;
let browser: LabBrowser;
let server: { address: string; ca: string; token: string };

beforeAll(async () => {
  meta = await enterLane();
  dir = await mkdtemp(join(tmpdir(), 'e2e-'));
  python = await pythonClient(say);
  browser = await openBrowser(say);
}, 1_800_000);
afterAll(async () => {
  await browser.close();
  await python.close();
  await rm(dir, { recursive: true, force: true });
  await meta.close();
});

const { host, sh } = byNumber(() => meta);
const inside = (args: readonly string[], input?: object) =>
  kubectl(kubeconfigPath, args, input === undefined ? {} : { input: JSON.stringify(input) });

/** A volume on the worker's disk, as an administrator without a provisioner creates it. */
const volume = (node: string) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: 'desk' },
  spec: {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    persistentVolumeReclaimPolicy: 'Retain',
    local: { path: '/var/tmp/desk' },
    nodeAffinity: {
      required: {
        nodeSelectorTerms: [
          { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }] },
        ],
      },
    },
  },
});

/** Exposes the editor to a browser outside of the cluster. */
const editorService = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'editor' },
  spec: {
    type: 'NodePort',
    selector: { kind: 'cloud-ide' },
    ports: [{ port: EDITOR_PORT, nodePort: EDITOR_NODE_PORT }],
  },
};

async function installServer(): Promise<void> {
  await installAddon('workspace', kubeconfigPath, [host(0), host(1)]);
  const [key, crt] = [join(dir, 'tls.key'), join(dir, 'tls.crt')];
  const curve = ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const subject = ['-subj', `/CN=${SERVER}`, '-addext', `subjectAltName=IP:${host(0).ip}`];
  await execa('openssl', ['req', '-x509', '-newkey', ...curve, ...subject, '-keyout', key, '-out', crt]);
  const own = ['-n', NAMESPACE];
  await inside([...own, 'create', 'secret', 'tls', `${SERVER}-tls`, `--cert=${crt}`, `--key=${key}`]);
  const port = { name: 'grpc', port: 6387, targetPort: 'grpc', nodePort: GRPC_PORT };
  const spec = JSON.stringify({ spec: { type: 'NodePort', ports: [port] } });
  await inside([...own, 'patch', 'service', SERVER, '-p', spec]);
  await kubectl(kubeconfigPath, [...own, 'rollout', 'status', `deployment/${SERVER}`, '--timeout=120s'], {
    timeoutMs: 130_000,
  });
  await inside(['create', 'serviceaccount', 'web-backend']);
  const verbs = '--verb=create,get,update,delete';
  await inside(['create', 'role', 'workspaces', verbs, '--resource=workspaces.ecs.yun.com']);
  const to = ['--role=workspaces', '--serviceaccount=default:web-backend'];
  await inside(['create', 'rolebinding', 'workspaces', ...to]);
  server = {
    address: `${host(0).ip}:${GRPC_PORT}`,
    ca: await readFile(crt, 'utf8'),
    token: (await inside(['create', 'token', 'web-backend'])).trim(),
  };
}

const query = { name: 'demo', namespace: 'default' };
const url = () => `http://${host(0).ip}:${EDITOR_NODE_PORT}/lab`;

/** Opens the editor with a file; the document arrives over a WebSocket. */
async function opened(file: string): Promise<Page> {
  // Each node's kube-proxy sees a moment later that the pod is ready.
  const answers = () =>
    fetch(url()).then(
      ({ ok }) => ok,
      () => false,
    );
  await seen('the editor at the node', answers, { boundMs: PAGE_MS });
  const page = await browser.context.newPage();
  await page.goto(`${url()}/tree/${file}`, { timeout: PAGE_MS });
  await page.locator('.jp-FileEditor .cm-content').waitFor({ timeout: PAGE_MS });
  return page;
}

describe('a workspace on a cluster', () => {
  it('answers a Python client once it runs, with a volume', async () => {
    const node = (
      await inside(['get', 'nodes', '-o', 'name', '-l', '!node-role.kubernetes.io/control-plane'])
    )
      .trim()
      .replace('node/', '');
    await sh(1, 'rm -rf /var/tmp/desk && mkdir /var/tmp/desk && echo empty > /var/tmp/desk/notes.txt');
    await sh(1, 'chmod 666 /var/tmp/desk/notes.txt');
    await loadImage(await editorImage(say), IMAGE, [host(1)]);
    await inside(['apply', '-f', '-'], volume(node));
    await inside(['apply', '-f', '-'], editorService);
    await installServer();
    const info = {
      ...query,
      image: IMAGE,
      port: EDITOR_PORT,
      resourceLimit: { cpu: '1', Memory: '1Gi', Storage: '1Gi' },
    };
    const [answer, again] = await python.calls(
      server,
      [
        ['createSpaceAndWaitForRunning', info],
        ['getPodSpaceStatus', query],
      ],
      180,
    );
    expect(answer).toEqual([node, expect.stringMatching(/^10\./), EDITOR_PORT]);
    expect(again).toEqual([1, 'Running']);
  });

  it('keeps a file that was written in a browser over a stop and a start', async () => {
    const page = await opened('notes.txt');
    await page.locator('.jp-FileEditor .cm-content').click();
    await page.keyboard.press('Control+A');
    await page.keyboard.type(TEXT);
    await page.keyboard.press('Control+S');
    await seen('the file to be written', async () =>
      (await sh(1, 'cat /var/tmp/desk/notes.txt')).includes(TEXT),
    );
    await page.close();

    expect(await python.calls(server, [['stopSpace', query]])).toEqual([[200, 'success']]);
    await seen('its pod to go', async () => (await inside(['get', 'pods', '-o', 'name'])) === '');
    expect(await python.calls(server, [['getPodSpaceStatus', query]])).toEqual([[1, 'Stopped']]);
    const [started] = await python.calls(server, [['startSpaceAndWaitForRunning', query]], 180);
    expect(started).toEqual([expect.any(String), expect.stringMatching(/^10\./), EDITOR_PORT]);
    const later = await opened('notes.txt');
    // The editor appears before its file is loaded.
    await later.locator('.jp-FileEditor .cm-content', { hasText: TEXT }).waitFor({ timeout: 60_000 });
    await later.close();
  });

  it('fails with the reason if it cannot run, and leaves no object', async () => {
    const info = { name: 'none', namespace: 'default', image: 'registry.invalid/none:1', port: 80 };
    const [answer] = await python.calls(server, [['createSpaceAndWaitForRunning', info]], 120);
    expect(answer).toEqual({
      code: 'FAILED_PRECONDITION',
      details: expect.stringContaining('registry.invalid/none:1'),
    });
    const left = () => inside(['get', 'workspaces,pods,persistentvolumeclaims', '-o', 'name']);
    await seen('nothing of it to be left', async () => !(await left()).includes('none'));
  });

  it('is deleted with its pod and its claim', async () => {
    expect(await python.calls(server, [['deleteSpace', query]])).toEqual([[200, 'success']]);
    await seen(
      'pod and claim to go',
      async () => (await inside(['get', 'pods,persistentvolumeclaims', '-o', 'name'])) === '',
    );
    await inside(['delete', 'persistentvolume/desk', 'service/editor', 'serviceaccount/web-backend']);
    await inside(['delete', 'rolebinding/workspaces', 'role/workspaces']);
    await sh(1, 'rm -rf /var/tmp/desk');
  });
});
