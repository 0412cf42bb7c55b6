import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keyPath } from '#lab/hosts/places.ts';
import { kubectl } from '#lab/kubectl.ts';
import { installAddon } from '#lab/meta/addon.ts';
import { faults, seen } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byNumber } from './by-number.ts';
import { openLane } from './lanes.ts';
import { tracesOn } from './traces.ts';

/** docs/network.md on hosts with systemd: bridges that answer, recover, and leave no trace. */
const NAME = 'example-network';
const EXAMPLE = join(import.meta.dirname, '../../deploy/addons/examples/network.yaml');

let meta: Meta;
let traces: (index: number) => Promise<string[]>;
beforeAll(async () => {
  meta = await openLane();
  traces = await tracesOn(meta);
});
afterAll(() => meta.close());

const { host, sh } = byNumber(() => meta);
const inMeta = (args: readonly string[], input?: string) =>
  kubectl(meta.kubeconfigPath, ['-n', 'default', ...args], input === undefined ? {} : { input });
const ofNetwork = (path: string) =>
  inMeta(['get', 'networks.samplecrd.k8s.io', NAME, '--ignore-not-found', '-o', `jsonpath={${path}}`]);
const reason = () => ofNetwork('.status.conditions[?(@.type=="Ready")].reason');
const until = (what: string, of: () => Promise<string>, is: string | RegExp) =>
  seen(what, async () => {
    const found = await of();
    return typeof is === 'string' ? found === is : is.test(found);
  });
const patch = (spec: object) =>
  inMeta(['patch', 'networks.samplecrd.k8s.io', NAME, '--type=merge', '-p', JSON.stringify({ spec })]);
const addressOn = (index: number) => sh(index, `ip -o -4 addr show | awk '$2 ~ /^mxn-/ { print $4 }'`);
/**
 * Attaches a guest with that address to the bridge of a host, and sends a request to the meta cluster's artifact server from
 * it.
 */
const guest = (index: number, address: string, gateway: string) =>
  sh(
    index,
    `set -e; bridge=$(ip -o link show type bridge | sed -n 's/.*: \\(mxn-[^:]*\\):.*/\\1/p')
     # The first namespace that has a name mounts their folder.
     mountpoint -q /run/netns && had=yes || had=no
     trap 'ip netns delete guest || :; [ $had = yes ] || { umount /run/netns; rmdir /run/netns; }' EXIT
     ip netns add guest
     ip link add plug type veth peer name eth0 netns guest; ip link set plug master "$bridge" up
     ip -n guest addr add ${address} dev eth0; ip -n guest link set eth0 up; ip -n guest route add default via ${gateway}
     ip netns exec guest curl -s -o /dev/null -m 10 -w '%{http_code}' ${meta.artifactsUrl}/`,
  );

describe('Network on hosts', () => {
  it('creates a bridge on each host that forwards requests of its guests', async () => {
    await installAddon('network', meta.kubeconfigPath, [meta.host]);
    await inMeta([
      ...['create', 'rolebinding', 'matryoshka-network', '--clusterrole=matryoshka-network-served-namespace'],
      '--serviceaccount=matryoshka-network:matryoshka-network',
    ]);
    await inMeta(['create', 'secret', 'generic', `${NAME}-ssh`, `--from-file=ssh-privatekey=${keyPath}`]);
    const example = (await readFile(EXAMPLE, 'utf8'))
      .replace('192.0.2.11', host(0).ip)
      .replace('192.0.2.12', host(1).ip);
    await inMeta(['apply', '-f', '-'], example);
    await until('it to be made', reason, 'Synced');
    for (const index of [0, 1]) {
      expect(await addressOn(index)).toBe('10.9.0.1/24');
      // Any HTTP response proves that the gateway forwards in both directions.
      expect(await guest(index, '10.9.0.2/24', '10.9.0.1')).toMatch(/^[2-4]\d\d$/);
    }
  });

  it('takes the fence of its hosts, which refuses another cluster', async () => {
    const refused = await sh(0, '/usr/local/sbin/matryoshka-fence take somebody 1 1 pod 2>&1; echo $?');
    expect(refused).toMatch(/HostConflict: .*networks-[\s\S]*81\s*$/);
  });

  it('recreates the bridge after its removal and after a restart of the host', async () => {
    const left = await sh(
      0,
      `ip link delete "$(ip -o link show type bridge | sed -n 's/.*: \\(mxn-[^:]*\\):.*/\\1/p')"; ip -o -4 addr show`,
    );
    expect(left).not.toContain('mxn-');
    await until('the bridge to come back', () => addressOn(0), '10.9.0.1/24');
    await faults.restart(host(1));
    await until(
      'the bridge of the host that was restarted',
      () => addressOn(1).catch(() => ''),
      '10.9.0.1/24',
    );
    expect(await guest(1, '10.9.0.3/24', '10.9.0.1')).toMatch(/^[2-4]\d\d$/);
    await until('the Events', () => inMeta(['get', 'events']), /Repaired/);
  });

  it('changes addresses after its controller pod was replaced', async () => {
    await kubectl(meta.kubeconfigPath, ['-n', 'matryoshka-network', 'delete', 'pod', '--all', '--wait=true']);
    await patch({ cidr: '10.19.0.0/22', gateway: '10.19.2.1' });
    for (const index of [0, 1]) await until('the new address', () => addressOn(index), '10.19.2.1/22');
    expect(await guest(0, '10.19.0.2/22', '10.19.2.1')).toMatch(/^[2-4]\d\d$/);
  });

  it('removes the bridge from a host that leaves the list', async () => {
    await patch({ hosts: [{ ip: host(1).ip }] });
    await until('the bridge to go', () => addressOn(0), '');
    await until('the host to be let go', () => ofNetwork('.status.hosts[*].ip'), host(1).ip);
    expect(await traces(0)).toEqual([]);
  });

  it('waits in deletion for a host without SSH, then leaves no trace', async () => {
    await faults.stopSsh(host(1));
    try {
      await inMeta(['delete', 'networks.samplecrd.k8s.io', NAME, '--wait=false']);
      await until('it to say what it waits for', reason, 'Unreachable');
    } finally {
      await faults.startSsh(host(1));
    }
    await until('it to go', () => ofNetwork('.metadata.name'), '');
    expect(await traces(1)).toEqual([]);
    await inMeta(['delete', 'rolebinding', 'matryoshka-network']);
    await inMeta(['delete', 'secret', `${NAME}-ssh`]);
    const installed = join(import.meta.dirname, '../../deploy/addons/network.yaml');
    await kubectl(meta.kubeconfigPath, ['delete', '-f', installed, '--wait=false']);
  });
});
