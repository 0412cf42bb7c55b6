import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KubeObject } from '#api/meta.ts';
import { labReleases } from '#lab/artifacts/lab-releases.ts';
import { docker } from '#lab/hosts/docker.ts';
import { kubectl } from '#lab/kubectl.ts';
import { kubeconfigFile, untilCluster } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { watchedByKstatus } from './by-kstatus.ts';
import { byKubectl } from './by-kubectl.ts';
import { byNumber } from './by-number.ts';
import { openLane } from './lanes.ts';
import { asPlanned } from './plan-and-result.ts';

/** Changes of a cluster with `kubectl apply` only, and typical mistakes with it. */
const NAME = 'changing';
let meta: Meta;
let shell: ReturnType<typeof byKubectl>;
let watched: Awaited<ReturnType<typeof watchedByKstatus>> | undefined;
let made = '';

const { host } = byNumber(() => meta);
const at = (index: number, more: object = {}) => ({ ip: host(index).ip, ...more });
const inside = (...args: string[]) => kubectl(made, args);
const changed = (act: () => Promise<unknown>, files = false) =>
  asPlanned(
    meta,
    NAME,
    async () => {
      await act();
      await shell.waitUpToDate();
    },
    { files },
  );

const W1 = { name: 'w1' };
const ctr = ['/usr/local/bin/ctr', '-n', 'k8s.io', 'images'];
/** Removes every unused image, and the runner's, which is in use only while a Job runs. */
const prune = (name: string) =>
  docker(
    [
      ...['exec', name, 'sh', '-c'],
      `i="${ctr.join(' ')}"; $i prune --all; $i ls -q | grep /runner: | xargs -r $i rm`,
    ],
    120_000,
  );

interface Node extends KubeObject {
  spec: { taints?: { key: string; value?: string; effect: string }[] };
}
const node = async (name: string): Promise<Node> =>
  JSON.parse(await inside('get', 'node', name, '-o', 'json'));

describe('a cluster that is changed by kubectl apply', () => {
  beforeAll(async () => {
    meta = await openLane();
    shell = byKubectl(meta, NAME);
    await shell.giveKeys();
    watched = await watchedByKstatus(meta, NAME);
  });
  afterAll(async () => {
    watched?.stop();
    await meta.close();
  });

  it('is created with exchanged duties of its hosts after a failed attempt', async () => {
    await docker(['exec', host(0).name, 'systemctl', 'stop', 'ssh']);
    await shell.apply({ masters: [at(1)], workers: [at(0)], word: 'creating', requestId: '1' });
    await shell.untilStalled('OperationFailed', 120_000);
    await docker(['exec', host(0).name, 'systemctl', 'start', 'ssh']);
    await changed(() =>
      shell.apply({ masters: [at(0)], workers: [at(1, { name: 'w1' })], word: 'creating', requestId: '2' }),
    );
    const records = await shell.records();
    expect(records[host(0).ip]?.spec.duties).toEqual(['control-plane', 'etcd']);
    expect(records[host(1).ip]?.spec).toMatchObject({ duties: ['worker'], name: 'w1' });
    made = await kubeconfigFile(meta, NAME);
  });

  it('sets, changes and removes labels and taints, and keeps those of others', async () => {
    await inside('label', 'node', 'w1', 'theirs=kept');
    await inside('taint', 'node', 'w1', 'theirs=kept:PreferNoSchedule');
    const label = (more: object) =>
      shell.apply({ masters: [at(0)], workers: [at(1, { name: 'w1', ...more })] });
    const taint = (value: string) => [{ key: 'ours', value, effect: 'NoSchedule' }];
    await changed(() => label({ labels: { rack: 'r1', row: 'a' }, taints: taint('one') }), true);
    expect((await node('w1')).metadata.labels).toMatchObject({ rack: 'r1', row: 'a', theirs: 'kept' });
    await changed(() => label({ labels: { rack: 'r2' }, taints: taint('two') }));
    const { metadata, spec } = await node('w1');
    expect(metadata.labels).toMatchObject({ rack: 'r2', theirs: 'kept' });
    expect(metadata.labels).not.toHaveProperty('row');
    expect(spec.taints).toContainEqual({ key: 'ours', value: 'two', effect: 'NoSchedule' });
    await changed(() => label({}));
    const bare = await node('w1');
    expect(bare.metadata.labels).not.toHaveProperty('rack');
    expect(bare.spec.taints).toEqual([{ key: 'theirs', value: 'kept', effect: 'PreferNoSchedule' }]);
    await inside('taint', 'node', 'w1', 'theirs-');
  });

  it('plans a change and prechecks its hosts while dry-run is set, and starts nothing', async () => {
    const label = (text: string) => shell.run(['annotate', 'ecs', NAME, `ecs.yun.com/dry-run${text}`]);
    const says = (result: string) =>
      shell.run(['wait', `ecs/${NAME}`, `--for=jsonpath={.status.plan.result}=${result}`, '--timeout=90s'], {
        timeoutMs: 100_000,
      });
    const present = [at(1, { name: 'w1' })];
    await label('=All');
    await shell.apply({ masters: [at(0)], workers: [...present, { ip: '10.88.0.99', name: 'w9' }] });
    await says('Refused');
    expect((await shell.get())?.status?.plan?.message).toContain('10.88.0.99');
    await shell.apply({ masters: [at(0)], workers: [...present, at(2, { name: 'w2' })] });
    await says('Possible');
    expect((await shell.get())?.status?.plan).toMatchObject({ operation: 'scale-up', hosts: { join: 1 } });
    expect(await shell.records()).not.toHaveProperty([host(2).ip]);
    await shell.apply({ masters: [at(0)], workers: present });
    await label('-');
    await shell.waitUpToDate();
    expect((await shell.get())?.status).not.toHaveProperty('plan');
  });

  it('refuses an approved plan if a host is another machine than in the plan', async () => {
    const present = [at(1, { name: 'w1' })];
    const machineId = (script: string) =>
      docker(['exec', host(2).name, 'sh', '-ec', `${script} /etc/machine-id`]);
    const label = (...annotationsOf: string[]) =>
      shell.run([
        'annotate',
        '--overwrite',
        'ecs',
        NAME,
        ...annotationsOf.map((text) => `ecs.yun.com/${text}`),
      ]);
    const before = await machineId('cat');
    await label('dry-run=All');
    await shell.apply({ masters: [at(0)], workers: [...present, at(2, { name: 'w2' })] });
    const possible = (one: Awaited<ReturnType<typeof shell.get>>) =>
      one?.status?.plan?.result === 'Possible' && one.status.plan.operation === 'scale-up';
    const { hash, seen } = (await untilCluster(meta, NAME, possible, 90_000))?.status?.plan ?? {};
    expect(Object.keys(seen ?? {})).toEqual([host(2).ip]);
    try {
      await machineId('sed -i y/0123456789abcdef/123456789abcdef0/');
      await label(`plan=${hash}`, 'dry-run-');
      const { status } = (await shell.untilStalled('OperationFailed', 120_000)) ?? {};
      expect(status?.reason).toBe('HostChanged');
      expect(status?.message).toMatch(/than when the plan was made.*plan it anew/);
      expect(await inside('get', 'nodes', '-o', 'name')).not.toContain('node/w2');
    } finally {
      await machineId(`printf '%s\\n' ${before.trim()} >`);
    }
    // The run changed nothing on the host, so the host is released.
    await shell.apply({ masters: [at(0)], workers: present, word: 'scaling-down', requestId: 'seen' });
    await shell.waitUpToDate();
    expect(await shell.records()).not.toHaveProperty([host(2).ip]);
  });

  it('keeps no record of a mistyped address, and adds the right host under the same name', async () => {
    for (const { name } of [meta.host, host(0), host(1)]) await prune(name);
    const wrong = { ip: '10.88.0.99', name: 'w2' };
    const workers = [at(1, W1)];
    await shell.apply({ masters: [at(0)], workers: [...workers, wrong] });
    await shell.untilStalled('OperationFailed', 120_000);
    // The run did not get into the host, so the address is free for its owner.
    expect(await shell.records()).not.toHaveProperty([wrong.ip]);
    expect((await shell.get())?.status?.message).toContain(wrong.ip);
    const both = [...workers, at(2, { name: 'w2' }), at(3, { name: 'w3.example.com' })];
    await changed(() => shell.apply({ masters: [at(0)], workers: both }), true);
    expect(await shell.records()).not.toHaveProperty([wrong.ip]);
    const fewer = { masters: [at(0)], workers: both.slice(0, 2) };
    await changed(() => shell.apply({ ...fewer, word: 'scaling-down', requestId: '3' }), true);
    expect(await inside('get', 'nodes', '-o', 'name')).toMatch(/w1\s+node\/w2$/);
  });

  it('adds a removed worker again', async () => {
    const workers = [at(1, W1), at(2, { name: 'w2' }), at(3, { name: 'w3.example.com' })];
    await changed(() => shell.apply({ masters: [at(0)], workers }));
    expect(await inside('get', 'nodes', '-o', 'name')).toContain('node/w3.example.com');
  });

  it('refuses a second address of a worker', async () => {
    const second = host(1).ip.replace(/\d+$/, '98');
    const alias = (verb: string) =>
      docker(['exec', host(1).name, 'ip', 'address', verb, `${second}/24`, 'dev', 'eth0']);
    const workers = [at(1, W1), at(2, { name: 'w2' }), at(3, { name: 'w3.example.com' })];
    const before = (await node('w1')).metadata.uid;
    await alias('add');
    try {
      await shell.apply({ masters: [at(0)], workers: [...workers, { ip: second, name: 'w9' }] });
      const { status } = (await shell.untilStalled('OperationFailed', 120_000)) ?? {};
      expect(status?.reason).toBe('HostConflict');
      expect(status?.message).toContain(`is host ${host(1).ip} of this cluster already`);
      expect((await node('w1')).metadata.uid).toBe(before);
      expect(await inside('get', 'nodes', 'w1')).toMatch(/ Ready /);
    } finally {
      await alias('delete');
    }
    // The run changed nothing on the host, so the host is released.
    await shell.apply({ masters: [at(0)], workers, word: 'scaling-down', requestId: 'second' });
    await shell.waitUpToDate();
    expect(await shell.records()).not.toHaveProperty([second]);
  });

  it('is printed in columns by kubectl, and is deleted after unused images were pruned', async () => {
    const hosts = await shell.run(['get', 'ecsh', '-n', 'matryoshka-system']);
    expect(hosts.split('\n')[0]).toMatch(/^NAME\s+CLUSTER\s+NODE\s+DUTIES\s+VERSION\s+STATE\s+AGE$/);
    expect(hosts).toMatch(/default\/changing\s+w1\s+worker\s+v1\.34\.4\s+Joined/);
    for (const { name } of [meta.host, host(0), host(1), host(2), host(3)]) await prune(name);
    // Images that the kubelet of a control plane needs at a restart, and that may be in no registry.
    const kept = (await docker(['exec', host(0).name, ...ctr, 'ls', '-q'])).split('\n');
    for (const component of ['apiserver', 'controller-manager', 'scheduler'])
      expect(kept).toContain(`registry.k8s.io/kube-${component}:${labReleases[0].kubernetes}`);
    await shell.run(['delete', 'ecs', NAME, '--wait=false']);
    await shell.untilGone(480_000);
    const left = Object.values(await shell.records()).filter(({ spec }) => spec.cluster.endsWith(`/${NAME}`));
    expect(left).toEqual([]);
  });

  it('had kstatus InProgress during operations, Current afterwards, and Failed until a user acted', async () => {
    const { said, wanted } = (await watched?.read()) ?? { said: [], wanted: ['watched'] };
    expect(said).toEqual(wanted);
    const course = said.filter((text, index) => text !== said[index - 1]).join(' ');
    expect(course).toMatch(
      /^InProgress Failed InProgress Current (InProgress Current )+.*InProgress Failed InProgress Current .*Terminating$/,
    );
  });
});
