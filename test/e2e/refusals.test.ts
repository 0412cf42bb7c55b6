import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { docker } from '#lab/hosts/docker.ts';
import type { LabHost } from '#lab/hosts/places.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byKubectl } from './by-kubectl.ts';
import { absentHost, openLane } from './lanes.ts';

/** Requests that are refused before a host is touched. */
const NAME = 'refused';
let meta: Meta;
let shell: ReturnType<typeof byKubectl>;
beforeAll(async () => {
  meta = await openLane();
  shell = byKubectl(meta, NAME);
  await shell.giveKeys();
});
afterAll(() => meta.close());

const on = ({ name }: LabHost, script: string) => docker(['exec', name, 'bash', '-ec', script]);
const gone = async (withinMs: number) => {
  await shell.run(['delete', 'ecs', NAME, '--wait=false']);
  await shell.untilGone(withinMs);
};

it('a cluster that never touched a host is deleted within 5 seconds without its Secret', async () => {
  const masters = [{ ip: meta.hosts[0]?.ip ?? '' }];
  await shell.apply({ masters, word: 'creating', secret: 'nobody-made-it' });
  await shell.untilStalled('CredentialsMissing', 30_000);
  await gone(5_000);
});

it('a node of the meta cluster is refused, even by a new address with reclaim', async () => {
  const ip = absentHost(1);
  const owner = await on(meta.host, 'cat /etc/matryoshka/owner.json');
  const { clusterId } = z.object({ clusterId: z.string() }).parse(JSON.parse(owner));
  await on(meta.host, `ip addr add ${ip}/32 dev eth0`);
  try {
    // The control plane cannot be reached, so nothing changes, even if the worker could be taken.
    const workers = [{ ip, reclaim: clusterId }];
    await shell.apply({ masters: [{ ip: absentHost() }], workers, word: 'creating', requestId: 'meta' });
    const failed = await shell.untilStalled('OperationFailed', 90_000);
    expect(failed?.status?.message).toContain(`the machine at ${ip} is a node of the meta cluster`);
    expect(await on(meta.host, 'cat /etc/matryoshka/owner.json')).toBe(owner);
  } finally {
    await on(meta.host, `ip addr del ${ip}/32 dev eth0`);
    await gone(30_000);
  }
});

/** A host's recorded owner, its contents, and the `reclaim` of its entry. */
const owners = {
  none: 'rm -f /etc/matryoshka/owner.json',
  released: `echo '{"clusterId":"other","epoch":{"sequence":1,"attempt":1},"podUid":"p","released":true}' > /etc/matryoshka/owner.json`,
  held: `echo '{"clusterId":"other","epoch":{"sequence":1,"attempt":1},"podUid":"p","released":false}' > /etc/matryoshka/owner.json`,
};
const leftovers = {
  nothing: 'rm -f /etc/matryoshka/made',
  listed: `printf 'cluster other\\ncontrol-plane tree /var/lib/etcd\\n' > /etc/matryoshka/made; mkdir -p /var/lib/etcd/member`,
  foreign: 'rm -f /etc/matryoshka/made; mkdir -p /var/lib/etcd/member',
};
const reclaims = [undefined, 'other', 'whatever'] as const;
type Case = [owner: keyof typeof owners, left: keyof typeof leftovers, reclaim: (typeof reclaims)[number]];
const cases: Case[] = (['none', 'released', 'held'] as const).flatMap((owner) =>
  (['nothing', 'listed', 'foreign'] as const).flatMap((left) =>
    reclaims.map((reclaim): Case => [owner, left, reclaim]),
  ),
);
/**
 * Returns the expected refusal, if any. A free host is accepted if it is empty. A held host is accepted if the entry
 * reclaims it and it carries nothing but its cluster's files.
 */
function expected([owner, left, reclaim]: Case): RegExp | undefined {
  if (owner === 'held' && reclaim === 'other') return left === 'foreign' ? /did not make/ : undefined;
  if (owner === 'held') return /HostConflict/;
  return left === 'nothing' ? undefined : /did not make/;
}

describe('a host that another cluster may hold', () => {
  it.each([0, 4, 8, 12, 16, 20, 24])('needs to be empty or reclaimed: cases from %i', async (first) => {
    const some = cases.slice(first, first + 4);
    const hosts = some.flatMap((one, index) => {
      const host = meta.hosts[index];
      return host ? [{ host, one }] : [];
    });
    // Its control plane cannot be reached, so no host changes, whatever the precheck finds on the others.
    const masters = [{ ip: absentHost() }];
    try {
      for (const { host, one } of hosts)
        await on(host, `mkdir -p /etc/matryoshka; ${owners[one[0]]}; ${leftovers[one[1]]}`);
      const workers = hosts.map(({ host, one: [, , reclaim] }) => ({
        ip: host.ip,
        ...(reclaim ? { reclaim } : {}),
      }));
      await shell.apply({ masters, workers, word: 'creating', requestId: `from ${first}` });
      const failed = await shell.untilStalled('OperationFailed', 90_000);
      const problems =
        failed?.status?.message?.split('; 10.88.').map((text) => `10.88.${text.replace('10.88.', '')}`) ?? [];
      for (const { host, one } of hosts) {
        const said = problems.filter((text) => text.startsWith(`${host.ip}:`)).join('; ');
        const wanted = expected(one);
        if (wanted) expect(said, one.join(' ')).toMatch(wanted);
        else expect(said, one.join(' ')).toBe('');
        if (one[1] !== 'nothing') await on(host, 'ls -d /var/lib/etcd/member');
      }
    } finally {
      // Leftovers of this test would block the hosts for all tests after it.
      await gone(30_000).finally(async () => {
        for (const { host } of hosts) await on(host, 'rm -rf /etc/matryoshka /var/lib/etcd');
      });
    }
  });
});
