import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KUBERNETES_CLUSTERS } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { createServerCertificates } from '#lab/apiserver/certificates.ts';
import { type RestWorld, restWorld } from '../../src/server/testing/rest-world.ts';

/** The command line as users call it: a process, a server with TLS, a real API server. */

const MAIN = join(import.meta.dirname, '../../src/main.ts');
let world: RestWorld;
let server: Server;
let url: string;
let home: string;
let token: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  world = await restWorld();
  home = await mkdtemp(join(tmpdir(), 'command-line-'));
  const { ca, cert, key } = await createServerCertificates();
  await writeFile(join(home, 'ca.crt'), ca);
  await world.app.ready();
  server = createServer({ cert, key }, (request, response) => world.app.routing(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  url = `https://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  server.closeAllConnections();
  server.close();
  await world.stop();
  await rm(home, { recursive: true, force: true });
});

/** Starts the command line; its answer has the exit code and what it printed. */
function begin(args: readonly string[], input = '') {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { HOME: home, PATH: process.env['PATH'] },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  children.push(child);
  child.stdin.end(input);
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    out += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    err += chunk;
  });
  return {
    /** Returns what it has printed to standard error so far. */
    noted: () => err,
    printed: () => out,
    end: async () => ({ code: await ended, out, err }),
  };
}
const run = (args: readonly string[], input?: string) => begin(args, input).end();

const login = (token: string) =>
  run(['login', '--server', url, '--ca', join(home, 'ca.crt'), '-n', world.namespace], token);

/** Writes what the controller writes when it begins or ends the operation that was requested last. */
async function statusOf(name: string, operation: object, more: object = {}): Promise<void> {
  const key = { namespace: world.namespace, name };
  const { metadata } = await world.admin.get(KUBERNETES_CLUSTERS, key);
  const requestId = metadata.annotations?.[annotations.requestId];
  const status = {
    operation: {
      ...{ id: 'b7k2m9x4qz', sequence: 1, attempt: 1, word: 'creating', requestId, specHash: 'x' },
      ...{ generation: 1, spec: { cluster: {} }, startedAt: '2026-11-29T10:00:00Z', ...operation },
    },
    ...more,
  };
  await world.admin.patch(KUBERNETES_CLUSTERS, key, { status }, { type: 'merge', subresource: 'status' });
}

/** A process starts slowly beside others. */
const soon = { timeout: 30_000 };
const SECRET = ['--credentials-secret', 'keys'];
const hosts = (name: number) => ['--control-planes', `192.0.2.${name}`, '--workers', `192.0.2.${name + 1}`];

describe('without a login', () => {
  it('prints its version', async () => {
    expect(await run(['--version'])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
  });

  it('prints no error if the reader of its output ends', async () => {
    const child = spawn(process.execPath, [MAIN, 'completion', 'bash'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(child);
    child.stdout.destroy();
    let err = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      err += chunk;
    });
    const [code] = await once(child, 'close');
    expect([code, err]).toEqual([0, '']);
  });

  it('names the command that stores server and token', async () => {
    const { code, out, err } = await run(['get']);
    expect([code, out]).toEqual([2, '']);
    expect(err).toBe('there is no server; name it with --server, or store it with "matryoshka login"\n');
  });

  it('refuses a token that the server does not know, and stores nothing', async () => {
    const { code, err } = await login('nonsense');
    expect(code).toBe(4);
    expect(err.trim().split('\n')).toHaveLength(1);
    await expect(stat(join(home, '.matryoshka/config.yaml'))).rejects.toThrow('ENOENT');
  });

  it('names flag and fix if no server answers, or if its certificate is of another authority', async () => {
    const { ca } = await createServerCertificates();
    await writeFile(join(home, 'other.crt'), ca);
    const away = await run(['login', '--server', 'https://127.0.0.1:1', '--ca', join(home, 'ca.crt')], 'x');
    expect(away.code).toBe(5);
    expect(away.err).toMatch(
      /^https:\/\/127\.0\.0\.1:1 does not answer: .*check --server and the network\n$/,
    );
    const other = await run(['login', '--server', url, '--ca', join(home, 'other.crt')], 'x');
    expect(other.code).toBe(5);
    expect(other.err).toMatch(/check --server and --ca\n$/);
    const wrong = await run(['login', '--server', 'http://x/y'], 'x');
    expect([wrong.code, wrong.err]).toEqual([
      2,
      '--server: http://x/y is not an address of a server; write it like https://192.0.2.10:32443\n',
    ]);
  });
});

describe('with a login', () => {
  beforeAll(async () => {
    token = await world.accountWith([
      { apiGroups: ['ecs.yun.com'], resources: ['kubernetesclusters'], verbs: ['*'] },
      { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
    ]);
    const { code, err } = await login(`${token}\n`);
    expect([code, err]).toEqual([0, '']);
    const data = Object.fromEntries(
      Object.entries({ username: 'root', 'ssh-privatekey': 'x' }).map(([key, value]) => [
        key,
        Buffer.from(value).toString('base64'),
      ]),
    );
    const secret = { metadata: { namespace: world.namespace, name: 'keys' }, data };
    const kind = { group: '', version: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true };
    await world.admin.create(kind, secret);
  });

  it('keeps the token from other users', async () => {
    const path = join(home, '.matryoshka/config.yaml');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readFile(path, 'utf8')).toContain(token);
  });

  it('says that there is nothing yet', async () => {
    expect(await run(['get'])).toMatchObject({ code: 0, out: '' });
    expect(await run(['get', '-o', 'json'])).toMatchObject({ code: 0, out: '{\n  "items": []\n}\n' });
    const { code, err } = await run(['describe', 'none']);
    expect([code, err]).toEqual([
      3,
      `there is no cluster none in namespace ${world.namespace}; "matryoshka get -A" lists clusters of all namespaces\n`,
    ]);
  });

  it('names what was meant by a field of a file that it does not know', async () => {
    const file = join(home, 'mistyped.yaml');
    const spec = { cluster: { masterlist: [{ ip: '192.0.2.10' }] } };
    const object = { apiVersion: 'ecs.yun.com/v1', kind: 'KubernetesCluster', metadata: { name: 'a' }, spec };
    await writeFile(file, JSON.stringify(object));
    const { code, err } = await run(['create', '-f', file, ...SECRET]);
    expect([code, err]).toEqual([
      2,
      expect.stringContaining('spec.cluster.masterlist (did you mean masterList?)'),
    ]);
    await writeFile(file, 'a word');
    expect(await run(['create', '-f', file, ...SECRET])).toMatchObject({
      code: 2,
      err: `${file}: is not a KubernetesCluster\n`,
    });
  });

  it('names wrong flags, arguments and values, each in a line or two', async () => {
    const wrong: [string[], RegExp][] = [
      [['get', '--outptu', 'json'], /unknown option '--outptu'\n\(Did you mean --output\?\)/],
      [['get', '-o', 'xml'], /^--output: xml is none of table, wide, json, yaml, name$/],
      [['creat'], /unknown command 'creat'\n\(Did you mean create\?\)/],
      [['create', 'a', ...SECRET], /^--control-planes: is missing/],
      [
        ['create', 'a', '--control-planes', '10.0.0.300'],
        /^--control-planes: 10\.0\.0\.300 is not an IP address/,
      ],
      [['create', '-f', '/none.yaml'], /^--filename: \/none\.yaml cannot be read: ENOENT/],
      [['create', 'a', ...hosts(10)], /^--ssh-key: is missing; name the file/],
      [['get', '--ca', '/etc/hostname'], /^--ca: \/etc\/hostname has no certificate/],
      [['doctor', '--kubeconfig', '/none'], /^--kubeconfig: \/none cannot be read: ENOENT/],
      [['upgrade', 'a'], /^--to: is missing; name a version such as v1\.35\.4$/],
      [['logs'], /missing required argument 'cluster'/],
      [['delete', 'a', '--timeout', 'soon'], /^--timeout: soon is not a time; write it like 30m$/],
      [['restore'], /^there is no cluster; name one/],
      [['get', '--token-file', '/none'], /^--token-file: \/none cannot be read: ENOENT/],
    ];
    const answers = await Promise.all(wrong.map(([args]) => run(args)));
    for (const [index, { code, err }] of answers.entries()) {
      expect([wrong[index]?.[0], code]).toEqual([wrong[index]?.[0], 2]);
      expect(err.trim()).toMatch(wrong[index]?.[1] ?? /never/);
      expect(err.trim().split('\n').length).toBeLessThanOrEqual(2);
    }
  });

  it('prints a plan and writes nothing', async () => {
    const before = await world.written();
    const { code, out, err } = await run(['create', 'planned', ...hosts(10), ...SECRET, '--dry-run']);
    expect([code, err]).toEqual([0, 'Nothing was changed.\n']);
    expect(out).toMatch(/^Plan: create, Kubernetes v1\.34\.4\n/);
    expect(out).toMatch(/192\.0\.2\.10 +host-192-0-2-10 +control-plane, etcd +join/);
    expect(out).toMatch(/\n {2}1\. Take hosts \(2 hosts at once\)\n/);
    expect(await world.written()).toEqual(before);
  });

  it('prints every refusal of a plan', async () => {
    const { code, err } = await run([
      'create',
      'refused',
      '--control-planes',
      '192.0.2.10,192.0.2.11',
      ...SECRET,
    ]);
    expect(code).toBe(3);
    expect(err).toMatch(/^masterList.*\n$/);
  });

  it('creates from a file, and waits until the cluster is made', async () => {
    const file = join(home, 'cluster.yaml');
    await writeFile(
      file,
      `apiVersion: ecs.yun.com/v1
kind: KubernetesCluster
metadata: {name: filed, namespace: ${world.namespace}}
spec:
  cluster:
    region: north
    timeout_mins: "30"
    credentialsSecret: keys
    masterList: [{ip: 192.0.2.20, name: first}]
`,
    );
    const creation = begin(['create', '-f', file, '--wait']);
    await expect
      .poll(async () => (await world.cluster('filed'))?.metadata.annotations?.[annotations.operation], soon)
      .toBe('creating');
    expect((await world.cluster('filed'))?.spec.cluster).toMatchObject({
      region: 'north',
      timeout_mins: '30',
    });
    await statusOf('filed', { name: 'create', step: 'Install the control plane' }, { phase: 'Creating' });
    await expect
      .poll(async () => (await run(['get', 'filed', '-o', 'wide'])).out, soon)
      .toMatch(/create: Install the control plane/);
    await expect.poll(creation.noted, soon).toContain('create: Install the control plane\n');
    await statusOf('filed', { name: 'create', step: 'Complete', result: 'finished' }, { phase: 'Running' });
    await world.created('filed');
    const { code, out } = await creation.end();
    expect([code, out]).toEqual([0, 'cluster filed: finished (create a cluster)\n']);
  });

  it('shows clusters as a table, as data and by name', async () => {
    const { out } = await run(['get']);
    expect(out).toMatch(/^NAME +PHASE +READY +VERSION +NODES +AGE +SUMMARY\nfiled +Running /);
    const { out: yaml } = await run(['get', 'filed', '-o', 'yaml']);
    expect(yaml).toMatch(/^metadata:\n(.*\n)* {2}name: filed\n/m);
    expect((await run(['get', '-o', 'name'])).out).toBe('kubernetescluster.ecs.yun.com/filed\n');
    const { out: described } = await run(['describe', 'filed']);
    expect(described).toMatch(/Region: +north\n/);
    expect(described).toMatch(/192\.0\.2\.20 +first +control-plane,etcd +Joined/);
    expect((await run(['hosts', 'filed', '-o', 'name'])).out).toBe('192.0.2.20\n');
  });

  it('completes commands, flags and names of clusters', async () => {
    const completed = async (...words: string[]) =>
      (await run(['complete', '--', ...words])).out.split('\n').map((line) => line.split('\t')[0]);
    expect(await completed('sca')).toContain('scale');
    expect(await completed('scale', 'filed', '--add-w')).toContain('--add-workers');
    expect(await completed('scale', 'fi')).toContain('filed');
    expect((await run(['completion', 'bash'])).out).toMatch(/^# bash completion for matryoshka/);
  });

  it('adds hosts, with the present ones in the request', async () => {
    const { code, out } = await run(['scale', 'filed', '--add-workers', '192.0.2.21']);
    expect([code, out]).toEqual([
      0,
      'cluster filed: requested (add workers, control planes and members of etcd)\n',
    ]);
    const cluster = await world.cluster('filed');
    expect(cluster?.metadata.annotations?.[annotations.operation]).toBe('scaling-up');
    expect(cluster?.spec.cluster.nodeList).toEqual([{ ip: '192.0.2.21' }]);
    const busy = await run(['repair', 'filed']);
    expect([busy.code, busy.err]).toEqual([
      3,
      expect.stringMatching(
        /^cluster "filed" is busy: scaling-up was asked by .*:account-[0-9a-f]+ and did not start yet\n$/,
      ),
    ]);
  });

  it('reports why an operation failed, and what to read', async () => {
    const failed = { phase: 'Failed', message: 'no space on 192.0.2.21' };
    await statusOf('filed', { name: 'scale-up', step: 'Join hosts', result: 'failed' }, failed);
    await world.created('filed');
    const retry = begin(['retry', 'filed', '--wait']);
    await expect
      .poll(async () => (await world.cluster('filed'))?.metadata.annotations?.[annotations.operation], soon)
      .toBe('scaling-up');
    await statusOf('filed', { name: 'scale-up', step: 'Join hosts', result: 'failed' }, failed);
    const { code, err } = await retry.end();
    expect(code).toBe(1);
    expect(err).toContain(
      'filed: scale-up failed: no space on 192.0.2.21\n"matryoshka logs filed --operation b7k2m9x4qz" has its log\n',
    );
  });

  it('follows a log while the server restarts, without a gap or a repeat', async () => {
    const id = 'b7k2m9x4qz';
    await world.admin.create(KUBERNETES_CLUSTERS, {
      metadata: {
        namespace: world.namespace,
        name: 'followed',
        annotations: { [annotations.requestId]: 'one' },
      },
      spec: { cluster: { masterList: [{ ip: '192.0.2.61' }] } },
    });
    await statusOf('followed', { id, name: 'create', step: 'Prepare hosts' });
    const attempt = await world.attempt(`create-${id}-1`, 'followed');
    const jobToken = await attempt.token();
    let offset = 0;
    const log = async (message: string) => {
      const line = `${JSON.stringify({ time: '2026-11-29T10:00:00Z', event: 'info', message })}\n`;
      const path = `/jobs/${attempt.job}/log?offset=${offset}`;
      await world.call(jobToken, 'POST', path, line, { 'content-type': 'application/x-ndjson' });
      offset += Buffer.byteLength(line);
    };
    await log('the first');
    const followed = begin(['logs', 'followed', '-f']);
    await expect.poll(followed.printed, soon).toContain('the first');
    const { port } = new URL(url);
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
    await expect.poll(followed.noted, soon).toContain('The server does not answer');
    await log('the second');
    server.listen(Number(port), '127.0.0.1');
    await once(server, 'listening');
    await expect.poll(followed.printed, soon).toContain('the second');
    await log('the third');
    await statusOf('followed', { id, name: 'create', step: 'done', result: 'finished' });
    const { code, out } = await followed.end();
    expect(code).toBe(0);
    const lines = out.split('\n').flatMap((line) => /the (first|second|third)$/.exec(line)?.[1] ?? []);
    expect(lines).toEqual(['first', 'second', 'third']);
  });

  it('stops waiting after the time of --timeout', async () => {
    await world.created('filed');
    const renewal = await run(['renew', 'filed', '--wait', '--timeout', '1s']);
    expect([renewal.code, renewal.err.trim().split('\n').at(-1)]).toEqual([
      6,
      'filed: the operation has not ended after 1 s, and goes on',
    ]);
  });

  it('deletes only what the user confirms', async () => {
    const unsure = await run(['delete', 'filed']);
    expect([unsure.code, unsure.err.trim().split('\n').at(-1)]).toEqual([
      2,
      'cluster filed will be deleted, and its hosts will be reset with all data of the cluster; repeat the command with --yes if you want that',
    ]);
    expect((await world.cluster('filed'))?.metadata.deletionTimestamp).toBeUndefined();
    expect(await run(['delete', 'filed', '--yes'])).toMatchObject({ code: 0 });
    await expect.poll(async () => (await run(['get', 'filed'])).code, soon).toBe(3);
  });

  it('reports a missing right', async () => {
    const file = join(home, 'mallory.token');
    await writeFile(file, world.tokens.mallory);
    const { code, err } = await run(['get', '--token-file', file]);
    expect(code).toBe(4);
    expect(err).toMatch(/may not list kubernetesclusters/);
    expect(err.trim().split('\n')).toHaveLength(1);
  });
});
