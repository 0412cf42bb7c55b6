import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { annotations } from '#api/names.ts';
import { type CommandLine, commandLine, hosts, SECRET, soon } from './command-line.fixture.ts';

let cli: CommandLine;
beforeAll(async () => {
  cli = await commandLine();
  await cli.loginAsOwner();
});
afterAll(() => cli.stop());

it('prints a plan and writes nothing', async () => {
  const before = await cli.world.written();
  const { code, out, err } = await cli.run(['create', 'planned', ...hosts(10), ...SECRET, '--dry-run']);
  expect([code, err]).toEqual([
    0,
    'Nothing was changed. New hosts were not checked: "matryoshka precheck" does that.\n',
  ]);
  expect(out).toMatch(/^Plan: create, Kubernetes v1\.34\.4\n/);
  expect(out).toMatch(/192\.0\.2\.10 +host-192-0-2-10 +control-plane, etcd +join/);
  expect(out).toMatch(/\n {2}1\. Take hosts \(2 hosts at once\)\n/);
  expect(await cli.world.written()).toEqual(before);
});

it('prints every refusal of a plan', async () => {
  const { code, err } = await cli.run([
    'create',
    'refused',
    '--control-planes',
    '192.0.2.10,192.0.2.11',
    ...SECRET,
  ]);
  expect(code).toBe(3);
  expect(err).toMatch(/^--control-planes: names 2 control plane hosts; .*\n$/);
});

it('creates from a file, and waits until the cluster is made', async () => {
  const file = join(cli.home, 'cluster.yaml');
  await writeFile(
    file,
    `apiVersion: ecs.yun.com/v1
kind: KubernetesCluster
metadata: {name: filed, namespace: ${cli.world.namespace}}
spec:
  cluster:
    region: north
    timeout_mins: "30"
    credentialsSecret: keys
    masterList: [{ip: 192.0.2.20, name: first}]
`,
  );
  const creation = cli.begin(['create', '-f', file, '--wait']);
  await expect
    .poll(async () => (await cli.world.cluster('filed'))?.metadata.annotations?.[annotations.operation], soon)
    .toBe('creating');
  expect((await cli.world.cluster('filed'))?.spec.cluster).toMatchObject({
    region: 'north',
    timeout_mins: '30',
  });
  await cli.statusOf('filed', { name: 'create', step: 'Install the control plane' }, { phase: 'Creating' });
  await expect
    .poll(async () => (await cli.run(['get', 'filed', '-o', 'wide'])).out, soon)
    .toMatch(/create: Install the control plane/);
  await expect.poll(creation.noted, soon).toContain('create: Install the control plane\n');
  await cli.statusOf('filed', { name: 'create', step: 'Complete', result: 'finished' }, { phase: 'Running' });
  await cli.world.created('filed');
  const { code, out } = await creation.end();
  expect([code, out]).toEqual([0, 'cluster filed: finished (create a cluster)\n']);
});

it('shows clusters as a table, as data and by name', async () => {
  const { out } = await cli.run(['get']);
  expect(out).toMatch(/^NAME +PHASE +READY +VERSION +NODES +AGE +SUMMARY\nfiled +Running /);
  const { out: yaml } = await cli.run(['get', 'filed', '-o', 'yaml']);
  expect(yaml).toMatch(
    /^apiVersion: ecs\.yun\.com\/v1\nkind: KubernetesCluster\nmetadata:\n(.*\n)* {2}name: filed\n/,
  );
  expect((await cli.run(['get', '-o', 'name'])).out).toBe('kubernetescluster.ecs.yun.com/filed\n');
  const { out: described } = await cli.run(['describe', 'filed']);
  expect(described).toMatch(/Region: +north\n/);
  expect(described).toMatch(/192\.0\.2\.20 +first +control-plane,etcd +Joined/);
  expect((await cli.run(['hosts', 'filed', '-o', 'name'])).out).toBe('192.0.2.20\n');
  expect(await cli.run(['get', '--region', 'south', '-o', 'name'])).toMatchObject({ code: 0, out: '' });
  expect((await cli.run(['get', '--region', 'north', '-o', 'name'])).out).toContain('filed');
});

it('completes commands, flags and names of clusters', async () => {
  const completed = async (...words: string[]) =>
    (await cli.run(['complete', '--', ...words])).out.split('\n').map((line) => line.split('\t')[0]);
  expect(await completed('sca')).toContain('scale');
  expect(await completed('scale', 'filed', '--add-w')).toContain('--add-workers');
  expect(await completed('scale', 'fi')).toContain('filed');
  expect(await completed('get', '-o', '')).toEqual(expect.arrayContaining(['json', 'wide']));
  // Bash completes files itself.
  expect(await completed('create', '-f', '/etc/pass')).toEqual([':0', '']);
  expect(await completed('get', '--ca=/etc/pass')).toEqual([':0', '']);
});

it('prints a completion that bash loads, and loads again', async () => {
  const { out: script } = await cli.run(['completion', 'bash']);
  const { stdout, stderr } = await execa('bash', [
    '--norc',
    '-c',
    'eval "$0"; eval "$0"; complete -p',
    script,
  ]);
  expect([stdout, stderr]).toEqual([expect.stringMatching(/__matryoshka_complete matryoshka$/m), '']);
});

it('adds hosts, with the present ones in the request', async () => {
  const { code, out } = await cli.run(['scale', 'filed', '--add-workers', '192.0.2.21']);
  expect([code, out]).toEqual([0, 'cluster filed: requested (add 192.0.2.21)\n']);
  const cluster = await cli.world.cluster('filed');
  expect(cluster?.metadata.annotations?.[annotations.operation]).toBe('scaling-up');
  expect(cluster?.spec.cluster.nodeList).toEqual([{ ip: '192.0.2.21' }]);
  expect((await cli.run(['describe', 'filed'])).out).toMatch(
    /\n192\.0\.2\.21 +host-192-0-2-21 +worker +not taken\n/,
  );
  const busy = await cli.run(['repair', 'filed']);
  expect([busy.code, busy.err]).toEqual([
    3,
    expect.stringMatching(
      /^cluster filed is busy: scaling-up was asked by .*:account-[0-9a-f]+ and did not start yet; "matryoshka describe filed" shows the operation\n$/,
    ),
  ]);
});

it('reports why an operation failed, and what to read', async () => {
  const failed = { phase: 'Failed', message: 'no space on 192.0.2.21' };
  await cli.statusOf('filed', { name: 'scale-up', step: 'Join hosts', result: 'failed' }, failed);
  await cli.world.created('filed');
  const retry = cli.begin(['retry', 'filed', '--wait']);
  await expect
    .poll(async () => (await cli.world.cluster('filed'))?.metadata.annotations?.[annotations.operation], soon)
    .toBe('scaling-up');
  await cli.statusOf('filed', { name: 'scale-up', step: 'Join hosts', result: 'failed' }, failed);
  const { code, err } = await retry.end();
  expect(code).toBe(1);
  expect(err).toContain(
    'filed: scale-up failed: no space on 192.0.2.21\n"matryoshka logs filed --operation b7k2m9x4qz" has its log\n"matryoshka scale filed --remove HOST" gives up a host that cannot join\n',
  );
});

it('refuses a host of another cluster before anything is requested', async () => {
  const { code, err } = await cli.run(['create', 'rival', ...hosts(20), ...SECRET]);
  expect([code, err]).toEqual([
    3,
    `--control-planes: 192.0.2.20 belongs to cluster ${cli.world.namespace}/filed; choose another host, or remove it there first\n` +
      `--workers: 192.0.2.21 belongs to cluster ${cli.world.namespace}/filed; choose another host, or remove it there first\n`,
  ]);
  expect(await cli.world.cluster('rival')).toBeUndefined();
});

it('names the flag of a value that the server refuses', async () => {
  await cli.world.created('filed');
  const key = join(cli.home, 'no.key');
  await writeFile(key, 'no key');
  const wrong: [string[], RegExp][] = [
    [['create', 'a', ...hosts(30), '--ssh-key', key], /^--ssh-key: .*\n$/],
    [['upgrade', 'filed', '--to', 'v1.2'], /^--to: v1\.2 .*\n$/],
    [['upgrade', 'filed', '--to', 'v1.35.4', '--max-unavailable', '0'], /^--max-unavailable: 0 .*\n$/],
    [['replace', 'filed', '192.0.2.99', '192.0.2.30'], /^old-host: 192\.0\.2\.99 is not a host/],
    [['kubeconfig', 'filed', '--expires', '1s'], /^--expires: 1 .*\n$/],
    [
      ['restore', 'filed', '--snapshot', '20261129t020000z-7', '--confirm-data-loss-since', 'yesterday'],
      /^--confirm-data-loss-since: yesterday is not a time; write it like 2026-11-29T02:00:00Z\n$/,
    ],
  ];
  for (const [args, message] of wrong) {
    const { code, err } = await cli.run(args);
    expect([args, code, err]).toEqual([args, 3, expect.stringMatching(message)]);
  }
});

it('says that a paused cluster waits, and what lets it go on', async () => {
  await cli.world.created('filed');
  await cli.run(['pause', 'filed']);
  const { code, err } = await cli.run(['renew', 'filed']);
  expect([code, err]).toEqual([
    0,
    'cluster filed is paused: the operation starts after "matryoshka resume filed"\n',
  ]);
  expect(await cli.run(['resume', 'filed'])).toMatchObject({ code: 0 });
});

it('says that the operation goes on if the user interrupts the wait', async () => {
  await cli.world.created('filed');
  const waiting = cli.begin(['repair', 'filed', '--wait']);
  await expect.poll(waiting.noted, soon).not.toBe('');
  waiting.kill('SIGINT');
  const { code, err } = await waiting.end();
  expect(code).toBe(130);
  expect(err.trim().split('\n').at(-1)).toBe(
    'interrupted: the operation goes on; "matryoshka cancel filed" stops it',
  );
});

it('shows the plan in a terminal, carries it out after a yes, and goes on after Ctrl-C', async () => {
  await cli.world.created('filed');
  const asking = cli.inTerminal(['repair', 'filed', '--dry-run', '--wait']);
  await expect
    .poll(asking.printed, soon)
    // The terminal erases a line from where the cursor is.
    .toMatch(/\nHash: .*\r\n\S*Carry out this plan on filed\? \[y\/N\] (?!.*\[0J)/);
  asking.type('y\r');
  await expect.poll(asking.printed, soon).toMatch(/waits for the operator/);
  asking.type('\u0003');
  const { code, out } = await asking.end();
  expect(code).toBe(130);
  expect(out).toContain('↓ waits for the operator\r\n');
  expect(out).toContain('interrupted: the operation goes on; "matryoshka cancel filed" stops it\r\n');
});

it.each([
  ['finished', '✔', 0],
  ['failed', '✖', 1],
])('shows in a terminal that an operation has %s', async (result, sign, code) => {
  await cli.world.created('filed');
  const waiting = cli.inTerminal(['repair', 'filed', '--wait']);
  await expect.poll(waiting.printed, soon).toMatch(/waits for the operator/);
  // Its words must not steer the terminal.
  const step = 'Take hosts \u001b[5mnow';
  await cli.statusOf('filed', { name: 'repair', step, result: null }, { phase: 'Maintaining' });
  await expect.poll(waiting.printed, soon).toMatch(/repair: Take hosts/);
  await cli.statusOf('filed', { name: 'repair', step: 'Compare hosts', result }, { phase: 'Running' });
  await cli.world.created('filed');
  expect(await waiting.end()).toMatchObject({
    code,
    out: expect.stringContaining(`${sign} repair: Take hosts`),
  });
  expect(waiting.printed()).not.toContain('\u001b[5m');
});

it('stops waiting after the time of --timeout', async () => {
  await cli.world.created('filed');
  const renewal = await cli.run(['renew', 'filed', '--wait', '--timeout', '1s']);
  expect([renewal.code, renewal.err.trim().split('\n').at(-1)]).toEqual([
    6,
    'filed: the operation has not ended after 1 s, and goes on; "matryoshka logs -f filed" shows it',
  ]);
});

it('deletes only what the user confirms', async () => {
  const unsure = await cli.run(['delete', 'filed']);
  expect([unsure.code, unsure.err.trim().split('\n').at(-1)]).toEqual([
    2,
    'cluster filed will be deleted, and its hosts will be reset with all data of the cluster; repeat the command with --yes if you want that',
  ]);
  expect((await cli.world.cluster('filed'))?.metadata.deletionTimestamp).toBeUndefined();
  expect(await cli.run(['delete', 'filed', '--yes'])).toMatchObject({ code: 0 });
  await expect.poll(async () => (await cli.run(['get', 'filed'])).code, soon).toBe(3);
});
