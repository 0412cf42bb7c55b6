import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createServerCertificates } from '#lab/apiserver/certificates.ts';
import { type CommandLine, commandLine, hosts, MAIN, SECRET, soon } from './command-line.fixture.ts';

let cli: CommandLine;
beforeAll(async () => {
  cli = await commandLine();
});
afterAll(() => cli.stop());

describe('without a login', () => {
  it('prints its version', async () => {
    expect(await cli.run(['--version'])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
  });

  it('prints no error if the reader of its output ends', async () => {
    const child = spawn(process.execPath, [MAIN, 'completion', 'bash'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.destroy();
    let err = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      err += chunk;
    });
    const [code] = await once(child, 'close');
    expect([code, err]).toEqual([0, '']);
  });

  it('names the command that stores server and token', async () => {
    const { code, out, err } = await cli.run(['get']);
    expect([code, out]).toEqual([2, '']);
    expect(err).toBe('there is no server; name it with --server, or store it with "matryoshka login"\n');
  });

  it('refuses a token that the server does not know, and stores nothing', async () => {
    const { code, err } = await cli.login('nonsense');
    expect(code).toBe(4);
    expect(err.trim().split('\n')).toHaveLength(1);
    await expect(stat(join(cli.home, '.matryoshka/config.yaml'))).rejects.toThrow('ENOENT');
  });

  it.each([
    ['Ctrl-C', '\u0003', 130, 'interrupted\r\n'],
    ['Ctrl-D', '\u0004', 2, 'there is no token; '],
  ])('ends at %s when it asks for the token', async (_key, typed, code, said) => {
    const asking = cli.inTerminal(['login', '--server', cli.url, '--ca', join(cli.home, 'ca.crt')]);
    await expect.poll(asking.printed, soon).toBe('Token: ');
    asking.type(typed);
    expect(await asking.end()).toMatchObject({ code, out: expect.stringContaining(`\r\n${said}`) });
  });

  it('names flag and fix if no server answers, or if its certificate is of another authority', async () => {
    const { ca } = await createServerCertificates();
    await writeFile(join(cli.home, 'other.crt'), ca);
    const away = await cli.run(
      ['login', '--server', 'https://127.0.0.1:1', '--ca', join(cli.home, 'ca.crt')],
      'x',
    );
    expect(away.code).toBe(5);
    expect(away.err).toMatch(
      /^https:\/\/127\.0\.0\.1:1 does not answer: .*check --server and the network\n$/,
    );
    const portless = ['login', '--server', 'server.invalid', '--ca', join(cli.home, 'ca.crt')];
    expect((await cli.run(portless, 'x')).err).toMatch(
      /^https:\/\/server\.invalid does not answer: .*check --server \(a server of bootstrap has port 32443\) and the network\n$/,
    );
    const other = await cli.run(['login', '--server', cli.url, '--ca', join(cli.home, 'other.crt')], 'x');
    expect(other.code).toBe(5);
    expect(other.err).toMatch(/check --server and --ca\n$/);
    const wrong = await cli.run(['login', '--server', 'http://x/y'], 'x');
    expect([wrong.code, wrong.err]).toEqual([
      2,
      '--server: http://x/y is not an address of a server; write it like https://192.0.2.10:32443\n',
    ]);
  });
});

describe('with a login', () => {
  let token: string;
  beforeAll(async () => {
    token = await cli.loginAsOwner();
  });

  it('keeps the token from other users', async () => {
    const path = join(cli.home, '.matryoshka/config.yaml');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readFile(path, 'utf8')).toContain(token);
  });

  it('says that there is nothing yet', async () => {
    expect(await cli.run(['get'])).toMatchObject({ code: 0, out: '' });
    const before = await cli.run(['-n', cli.world.namespace, `--server=${cli.url}`, 'get']);
    expect(before).toMatchObject({ code: 0, err: expect.stringMatching(/^There are no clusters/) });
    expect(await cli.run(['get', '-o', 'json'])).toMatchObject({
      code: 0,
      out: '{\n  "apiVersion": "v1",\n  "kind": "List",\n  "items": []\n}\n',
    });
    const { code, err } = await cli.run(['describe', 'none']);
    expect([code, err]).toEqual([
      3,
      `there is no cluster none in namespace ${cli.world.namespace}; "matryoshka get -A" lists clusters of all namespaces\n`,
    ]);
  });

  it('names what was meant by a field of a file that it does not know', async () => {
    const file = join(cli.home, 'mistyped.yaml');
    const spec = { cluster: { masterlist: [{ ip: '192.0.2.10' }] } };
    const object = { apiVersion: 'ecs.yun.com/v1', kind: 'KubernetesCluster', metadata: { name: 'a' }, spec };
    await writeFile(file, JSON.stringify(object));
    const { code, err } = await cli.run(['create', '-f', file, ...SECRET]);
    expect([code, err]).toEqual([
      2,
      expect.stringContaining('spec.cluster.masterlist (did you mean masterList?)'),
    ]);
    await writeFile(file, 'a word');
    expect(await cli.run(['create', '-f', file, ...SECRET])).toMatchObject({
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
      [['delete', 'a', '--timeout', 'soon'], /^--timeout: soon is not a time; write it like 90s, 30m or 8h$/],
      [['restore'], /^there is no cluster; name one/],
      [['get', '--config', '/none'], /^--config: \/none cannot be read: ENOENT/],
      [['doctor', '--config', '/none'], /^--config: \/none cannot be read: ENOENT/],
      [['get', '--token-file', '/none'], /^--token-file: \/none cannot be read: ENOENT/],
    ];
    const answers = await Promise.all(wrong.map(([args]) => cli.run(args)));
    for (const [index, { code, err }] of answers.entries()) {
      expect([wrong[index]?.[0], code]).toEqual([wrong[index]?.[0], 2]);
      expect(err.trim()).toMatch(wrong[index]?.[1] ?? /never/);
      expect(err.trim().split('\n').length).toBeLessThanOrEqual(2);
    }
  });

  it('inspects an installation whose server does not answer', async () => {
    const away = ['doctor', '--server', 'https://127.0.0.1:1'];
    const { code, err } = await cli.run(away);
    expect(code).toBe(5);
    expect(err.trim().split('\n').at(-1)).toBe(
      'with --kubeconfig FILE, doctor also inspects the installation',
    );
    const file = join(cli.home, 'server.kubeconfig');
    await writeFile(file, cli.world.serverKubeconfig);
    const inspected = await cli.run([...away, '--kubeconfig', file, '--operator-namespace', 'operators']);
    expect(inspected.code).toBe(1);
    expect(inspected.out).toMatch(
      /problem {2}meta cluster: nodes is forbidden: .*\n {9}fix: use a kubeconfig of an administrator\n/,
    );
    expect(inspected.out).toMatch(
      /\nproblem {2}the server: https:\/\/127\.0\.0\.1:1 does not answer: .*\n {9}fix: kubectl -n operators get pods,services\n/,
    );
  });

  it('reports a missing right', async () => {
    const file = join(cli.home, 'mallory.token');
    await writeFile(file, cli.world.tokens.mallory);
    const { code, err } = await cli.run(['get', '--token-file', file]);
    expect(code).toBe(4);
    expect(err).toMatch(/may not list kubernetesclusters/);
    expect(err.trim().split('\n')).toHaveLength(1);
  });
});
