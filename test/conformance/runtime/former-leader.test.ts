import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { stringify } from 'yaml';
import { createLogger } from '#base/log.ts';
import type { SeenRequest } from '#lab/fault-proxy/faults.ts';
import { CONFIG_MAPS, type ConfigMap, useNamespace } from '#runtime/testing/test-namespace.ts';
import { LEDGER, runLedger } from './ledger.ts';
import { eventually, runInformers, useProxy, within } from './world.ts';

const test = useNamespace('former-leader');
const world = useProxy(test);
const { namespace, key } = test;

const isEntry = ({ method, path }: SeenRequest) => method !== 'GET' && path.endsWith(`/configmaps/${LEDGER}`);

/** Starts a process that reaches its API server through the proxy. `stderr` is its output so far. */
async function startFormer() {
  const { proxy } = world;
  const directory = mkdtempSync(join(tmpdir(), 'former-leader-'));
  const token = (await test.endpoint.headers())['authorization']?.replace('Bearer ', '') ?? '';
  const ca = Buffer.from(proxy.ca).toString('base64');
  const config = {
    clusters: [{ name: 'c', cluster: { server: proxy.url, 'certificate-authority-data': ca } }],
    users: [{ name: 'u', user: { token } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  const kubeconfig = join(directory, 'kubeconfig');
  writeFileSync(kubeconfig, stringify(config), { mode: 0o600 });
  const script = join(import.meta.dirname, 'ledger-process.ts');
  const child = spawn(process.execPath, [script, kubeconfig, namespace], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const said: string[] = [];
  child.stderr.on('data', (part: Buffer) => said.push(part.toString()));
  const closed = once(child, 'close');
  return {
    said: () => said.join(''),
    signal: (signal: 'SIGSTOP' | 'SIGCONT') => child.kill(signal),
    async exitCode() {
      await within(closed, 15_000, () => `the end of the former leader; it said: ${said.join('')}`);
      return child.exitCode;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await closed;
      rmSync(directory, { recursive: true });
    },
  };
}

it('a leader that was stopped past its lease writes nothing when it goes on, and exits (row 21)', async () => {
  const { proxy } = world;
  await test.client.create<ConfigMap>(CONFIG_MAPS, { metadata: key(LEDGER) });
  await using caches = runInformers();
  const selection = { namespace, fieldSelector: `metadata.name=${LEDGER}` };
  const ledgers = await caches.start({ client: test.client, selection, log: createLogger('silent') });
  const entries: { by: string; number: number }[] = [];
  ledgers.addHandler({
    update(_before, { data = {} }) {
      entries.push({ by: data['by'] ?? '', number: Number(data['entries']) });
    },
  });
  const countOf = (who: string) => entries.filter(({ by }) => by === who).length;

  await using former = await startFormer();
  await eventually(ledgers, 'three entries of the first', () => countOf('former') >= 3);
  const latter = runLedger(test.client, { namespace, identity: 'latter', signal: caches.signal });
  caches.also(latter);

  // The process is stopped during a write, which arrives after another process has become leader.
  const released = Promise.withResolvers<void>();
  const since = proxy.requests.length;
  proxy.setRules((request) => (isEntry(request) ? { kind: 'wait', until: released.promise } : undefined));
  await within(
    proxy.seen((request) => isEntry(request) && proxy.requests.indexOf(request) >= since),
    10_000,
    'a write on its way',
  );
  former.signal('SIGSTOP');
  await eventually(ledgers, 'three entries of the second', () => countOf('latter') >= 3);
  proxy.setRules(() => undefined);
  released.resolve();
  const late = countOf('latter');
  await eventually(ledgers, 'entries after the late write', () => countOf('latter') >= late + 3);

  const resumed = proxy.requests.length;
  former.signal('SIGCONT');
  expect(await former.exitCode()).toBe(1);
  expect(former.said()).toContain('LeadershipLost');
  expect(proxy.requests.slice(resumed).filter(isEntry)).toEqual([]);
  // Each entry follows from the one before it, and no entry of the first process comes after one of the second.
  expect(entries.map(({ number }) => number)).toEqual(entries.map((_, index) => index + 1));
  const second = entries.findIndex(({ by }) => by === 'latter');
  expect(entries.slice(second).every(({ by }) => by === 'latter')).toBe(true);
});
