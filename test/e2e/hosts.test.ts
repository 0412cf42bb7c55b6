import { beforeAll, describe, expect, it } from 'vitest';
import { differences, type HostSnapshot, snapshotHost } from '#lab/host-snapshot.ts';
import { docker } from '#lab/hosts/docker.ts';
import type { LabHost } from '#lab/hosts/places.ts';
import { faults, seen } from '#lab/meta/faults.ts';
import { play } from '#lab/play.ts';
import { laneHosts } from './lanes.ts';

/** Playbooks on hosts that have other software, fail, or go away, run by hand without the operator. */
const [master, worker, readOnly, away] = laneHosts();
if (!master || !worker || !readOnly || !away) throw new Error('a lane needs 4 hosts');
const names = [master, worker, readOnly, away].map(({ name }) => name);

/** Greater than the sequence of any operation before it. */
let sequence = Math.floor(Date.now() / 1000);
const say = () => {};
const run = (playbook: string, hosts: { masters?: string[]; workers?: string[]; leaving?: string[] }) =>
  play(
    playbook,
    {
      name: 'hosts',
      masters: [master.name],
      workers: [],
      leaving: [],
      ...hosts,
      sequence: ++sequence,
      attempt: 1,
    },
    say,
  );
const on = ({ name }: LabHost, script: string) => docker(['exec', name, 'bash', '-ec', script], 60_000);
const nodes = async () =>
  (
    await on(
      master,
      'KUBECACHEDIR=/run/kube kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes -o name',
    )
  )
    .split('\n')
    .map((line) => line.replace('node/', ''));

const before = new Map<string, HostSnapshot>();
const traces = async ({ name }: LabHost) => {
  const was = before.get(name);
  return was ? differences(was, await snapshotHost(name)) : ['no snapshot'];
};

beforeAll(async () => {
  // Existing software of the host's owner, beside which ours will be installed.
  await on(
    worker,
    `ip netns add theirs; mkdir -p /etc/cni/net.d /opt/cni/bin /etc/docker; echo '{}' > /etc/docker/daemon.json
     echo theirs > /etc/cni/net.d/theirs.txt; echo theirs > /opt/cni/bin/theirs
     cp /bin/sleep /opt/containerd-shim-theirs; systemd-run --quiet --unit=theirs /opt/containerd-shim-theirs 100000`,
  );
  for (const name of names) before.set(name, await snapshotHost(name));
});

describe('hosts with foreign files, failures and outages', () => {
  it('are not overwritten if they have data of another etcd', async () => {
    await on(
      master,
      'mkdir -p /var/lib/etcd/default/member; echo precious > /var/lib/etcd/default/member/db',
    );
    await expect(run('create.yml', {})).rejects.toThrow('not at its end');
    expect(await on(master, 'cat /var/lib/etcd/default/member/db; rm -r /var/lib/etcd')).toContain(
      'precious',
    );
  });

  it('join a cluster', async () => {
    const { failed, did } = await run('create.yml', { workers: names.slice(1) });
    expect([...failed]).toEqual([]);
    expect(did.get(away.ip)).toEqual(['taken', 'prepared', 'joined']);
    expect((await nodes()).sort()).toEqual([...names].sort());
  });

  it('leave the cluster and are named, though one is read-only and one does not answer', async () => {
    await on(readOnly, 'mount -o remount,ro /');
    await faults.pause(away);
    const { failed, did } = await run('scale-down.yml', { leaving: [readOnly.name, away.name] });
    expect([...failed.keys()].sort()).toEqual([readOnly.ip, away.ip].sort());
    expect([did.get(readOnly.ip), did.get(away.ip)]).toEqual([['left'], ['left']]);
    expect((await nodes()).sort()).toEqual([master.name, worker.name].sort());
  });

  it('do not rejoin by themselves', async () => {
    await faults.unpause(away);
    await on(away, 'systemctl restart kubelet');
    await seen('the refusal of the node', () =>
      on(away, 'journalctl -u kubelet -o cat | grep -q "this node was removed from the cluster"').then(
        () => true,
        () => false,
      ),
    );
    expect(await nodes()).not.toContain(away.name);
  });

  it('join again when they are added again', async () => {
    await on(readOnly, 'mount -o remount,rw /');
    const { failed } = await run('scale-up.yml', { workers: [readOnly.name, away.name] });
    expect([...failed]).toEqual([]);
    expect((await nodes()).sort()).toEqual([...names].sort());
  });

  it('keep a foreign mount, which is reported, and are reset otherwise', async () => {
    await on(
      away,
      'mkdir -p /var/lib/containerd/disk; mount -t tmpfs tmpfs /var/lib/containerd/disk; echo precious > /var/lib/containerd/disk/data',
    );
    const { failed, did } = await run('terminate.yml', { masters: [], leaving: names });
    expect([...failed]).toEqual([[away.ip, expect.stringContaining('/var/lib/containerd/disk')]]);
    expect(did.get(worker.ip)).toEqual(['taken', 'reset']);
    expect(await on(away, 'cat /var/lib/containerd/disk/data')).toContain('precious');
    for (const host of [master, worker, readOnly]) expect(await traces(host), host.name).toEqual([]);
  });

  it('are reset once the mount is gone', async () => {
    await on(away, 'umount /var/lib/containerd/disk');
    expect([...(await run('terminate.yml', { masters: [], leaving: [away.name] })).failed]).toEqual([]);
    expect(await traces(away)).toEqual([]);
    await on(
      worker,
      `systemctl stop theirs; ip netns del theirs; umount /run/netns || true
       rm -r /etc/cni /opt/cni /etc/docker /opt/containerd-shim-theirs`,
    );
  });
});
