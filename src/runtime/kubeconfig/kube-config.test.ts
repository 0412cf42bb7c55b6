import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { createManualClock } from '#base/testing/manual-clock.ts';
import { loadEndpoint } from './kube-config.ts';

let directory: string;
let pem: string;
let keyPem: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'kube-config-'));
  const [key, cert] = [join(directory, 'x.key'), join(directory, 'x.crt')];
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-subj',
      '/CN=x',
      '-keyout',
      key,
      '-out',
      cert,
    ],
    { stdio: 'ignore' },
  );
  pem = execFileSync('cat', [cert], { encoding: 'utf8' });
  keyPem = execFileSync('cat', [key], { encoding: 'utf8' });
});

afterAll(() => rmSync(directory, { recursive: true }));

const base64 = (text: string) => Buffer.from(text).toString('base64');

function file(change: { cluster?: object; user?: object; context?: object; top?: object } = {}) {
  const path = join(directory, `config-${Math.random()}`);
  const config = {
    'current-context': 'main',
    contexts: [{ name: 'main', context: { cluster: 'c', user: 'u', ...change.context } }],
    clusters: [{ name: 'c', cluster: { server: 'https://host:6443/', ...change.cluster } }],
    users: [{ name: 'u', user: { token: 'secret', ...change.user } }],
    ...change.top,
  };
  writeFileSync(path, stringify(config));
  return path;
}

/** Returns a user whose credentials come from a shell script. */
const plugin = (script: string) => ({
  user: {
    token: undefined,
    exec: { command: 'sh', args: ['-c', script], apiVersion: 'client.authentication.k8s.io/v1' },
  },
});

it('reads server, authority, certificate and token', async () => {
  const kubeconfig = file({
    cluster: { 'certificate-authority': 'x.crt', 'tls-server-name': 'other' },
    user: { 'client-certificate-data': base64(pem), 'client-key-data': base64(keyPem), as: 'somebody' },
  });
  const endpoint = await loadEndpoint({ kubeconfig });
  expect(endpoint.url).toBe('https://host:6443');
  expect(endpoint.tls()).toEqual({ ca: pem.trim(), cert: pem, key: keyPem, servername: 'other' });
  expect(endpoint.headers()).toEqual({ authorization: 'Bearer secret', 'impersonate-user': 'somebody' });
});

it.each<[string, Parameters<typeof file>[0], RegExp]>([
  ['context', { top: { 'current-context': 'gone' } }, /no context 'gone'; there is: main/],
  ['no context', { top: { 'current-context': '' } }, /no current-context/],
  ['cluster', { context: { cluster: 'gone' } }, /no cluster 'gone'/],
  ['user', { context: { user: 'gone' } }, /no user 'gone'/],
  ['server', { cluster: { server: 'host:6443' } }, /cluster 'c': server 'host:6443' is no http/],
  ['no server', { cluster: { server: null } }, /cluster 'c' has no server/],
  [
    'CA file',
    { cluster: { 'certificate-authority': 'gone.crt' } },
    /cluster 'c': certificate-authority .*gone.crt.*ENOENT/,
  ],
  [
    'CA data',
    { cluster: { 'certificate-authority-data': 'AAAA' } },
    /cluster 'c': certificate-authority-data holds no PEM/,
  ],
  [
    'CA text',
    {
      cluster: {
        'certificate-authority-data': base64('-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----'),
      },
    },
    /cluster 'c': certificate-authority is no certificate/,
  ],
  ['key', { user: { 'client-certificate': 'x.crt' } }, /user 'u' has a client-certificate but no client-key/],
  ['token file', { user: { tokenFile: 'gone' } }, /user 'u': tokenFile .*ENOENT/],
  [
    'plugin',
    { user: { exec: { command: '/gone/plugin', apiVersion: 'client.authentication.k8s.io/v1' } } },
    /user 'u': the credential plugin \/gone\/plugin failed: .*ENOENT/,
  ],
  ['plugin that refuses', plugin('echo no login >&2; echo more >&2; exit 3'), /plugin sh failed: no login$/],
  ['plugin that fails without a word', plugin('exit 1'), /plugin sh failed: it said nothing$/],
  ['plugin that prints garbage', plugin('echo hello'), /plugin sh failed: it printed no ExecCredential$/],
  ['plugin that prints no status', plugin('echo {}'), /plugin sh failed: it printed no ExecCredential$/],
  [
    'plugin that gives nothing',
    plugin(`echo '{"status": {}}'`),
    /user 'u': the credential plugin sh gave neither a token nor a certificate$/,
  ],
  ['plugin without a command', { user: { exec: {} } }, /plugin without a command failed: No command/],
  ['type', { top: { clusters: 'x' } }, /clusters is no list/],
  ['entries', { top: { users: [{ name: 'u', user: 'x' }] } }, /user 'u' is no mapping/],
])('names the wrong part: %s', async (_part, change, message) => {
  const kubeconfig = file(change);
  const error = await loadEndpoint({ kubeconfig }).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ name: 'UsageError', message: expect.stringMatching(message) });
  expect(String(error)).toContain(`kubeconfig ${kubeconfig}: `);
  expect(String(error)).not.toContain('\n');
});

it('reports a problem of the file itself', async () => {
  await expect(loadEndpoint({ kubeconfig: join(directory, 'gone') })).rejects.toThrow(
    /kubeconfig .*gone: ENOENT/,
  );
  const kubeconfig = join(directory, 'not-yaml');
  writeFileSync(kubeconfig, 'a: [1\nb: {');
  await expect(loadEndpoint({ kubeconfig })).rejects.toThrow(/^kubeconfig .*: not YAML: .*$/);
  writeFileSync(kubeconfig, '- a');
  await expect(loadEndpoint({ kubeconfig })).rejects.toThrow(/not a kubeconfig/);
});

it('uses a token of a plugin', async () => {
  const credential = {
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    status: { token: 'from-plugin' },
  };
  const exec = { apiVersion: credential.apiVersion, command: 'echo', args: [JSON.stringify(credential)] };
  const endpoint = await loadEndpoint({ kubeconfig: file({ user: { token: undefined, exec } }) });
  expect(await endpoint.headers()).toEqual({ authorization: 'Bearer from-plugin' });
});

it('reads an in-cluster token again within a minute, or at once on request', async () => {
  const clock = createManualClock();
  writeFileSync(join(directory, 'token'), 'one');
  writeFileSync(join(directory, 'ca.crt'), pem);
  const endpoint = await loadEndpoint({ directory, server: '10.0.0.1:443', clock });
  expect(endpoint.url).toBe('https://10.0.0.1:443');
  writeFileSync(join(directory, 'token'), 'two');
  expect(endpoint.headers()).toEqual({ authorization: 'Bearer one' });
  await clock.advance(60_000);
  expect(endpoint.headers()).toEqual({ authorization: 'Bearer two' });
  writeFileSync(join(directory, 'token'), 'three');
  endpoint.refresh?.();
  expect(endpoint.headers()).toEqual({ authorization: 'Bearer three' });
  // During a rotation the file may be gone for a moment.
  rmSync(join(directory, 'token'));
  endpoint.refresh?.();
  expect(endpoint.headers()).toEqual({ authorization: 'Bearer three' });
});
