import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { bridgeNameOf } from './bridge-name.ts';
import type { Bridge, Provider, Session } from './provider.ts';
import { sshProvider } from './ssh-provider.ts';
import { type BridgeHost, bridgeHost, lackOfHosts } from './testing/bridge-host.ts';
import { everyProvider, visit } from './testing/provider-cases.ts';

/** Tests real bridges, rules and fence over SSH, in a network namespace of the kernel. */
const lack = await lackOfHosts();
const ANSIBLE = join(import.meta.dirname, '../../../../ansible');
const NAME = bridgeNameOf('uid-1');
const BRIDGE: Bridge = { name: NAME, id: 'uid-1', cidr: '10.9.0.0/24', address: '10.9.0.1/24' };
const OTHER: Bridge = {
  name: bridgeNameOf('uid-2'),
  id: 'uid-2',
  cidr: '10.10.0.0/16',
  address: '10.10.3.1/16',
};
const WHOLE = { name: NAME, addresses: ['10.9.0.1/24'], whole: true };

let host: BridgeHost;
let mine: Provider;
let untouched = '';
const everything = () =>
  host.sh(
    'ip -o -4 addr show; ip link show type bridge; ip route show; nft list ruleset; sysctl net.ipv4.ip_forward net.ipv4.conf.all.accept_redirects; sysctl -ar "ipv4.conf.*[.]forwarding"',
  );
const ofProcess = (term: number, owner = 'networks-a') =>
  sshProvider({
    clock: systemClock,
    holder: async () => ({ owner, since: 1000, term }),
    process: `process-${term}`,
  });

// Each test starts some hundred processes, on a machine that the rest of the run keeps busy.
vi.setConfig({ testTimeout: 120_000 });

describe.skipIf(lack !== undefined)(`bridges over SSH${lack ? ` (this machine lacks ${lack})` : ''}`, () => {
  beforeEach(async () => {
    host = await bridgeHost();
    // Sets a fixed value, because the kernel changes this one together with forwarding.
    await host.sh('sysctl -qw net.ipv4.conf.all.accept_redirects=0');
    untouched = await everything();
    mine = ofProcess(1);
  });
  afterEach(() => host[Symbol.asyncDispose]());

  const by = <T>(one: Provider, work: (session: Session) => Promise<T>) => visit(one, host.place, work);
  const probe = () => by(mine, async ({ seen }) => seen);
  const put = (bridge: Bridge) => by(mine, (session) => session.put(bridge));
  const remove = (name: string) => by(mine, (session) => session.remove(name));

  it('answer on the gateway, translate and forward; a second put changes nothing', async () => {
    await put(BRIDGE);
    expect((await probe()).bridges).toEqual([WHOLE]);
    expect(await host.sh('ip route get 10.9.0.1')).toMatch(/^local 10\.9\.0\.1/);
    expect(await host.sh(`nft list table ip ${NAME}`)).toContain('10.9.0.0/24');
    expect(await host.sh(`sysctl -n net.ipv4.ip_forward net.ipv4.conf.${NAME}.forwarding`)).toBe('0\n1');
    const made = await everything();
    await put(BRIDGE);
    expect(await everything()).toBe(made);
  });

  it('leave no trace but the name of the last owner', async () => {
    await put(BRIDGE);
    await put(OTHER);
    await remove(BRIDGE.name);
    expect((await probe()).bridges.map(({ name }) => name)).toEqual([OTHER.name]);
    await remove(OTHER.name);
    expect(await everything()).toBe(untouched);
    expect(JSON.parse(await host.text('etc/matryoshka/owner.json'))).toMatchObject({ released: true });
    await expect(host.text('etc/matryoshka/made')).rejects.toThrow(/ENOENT/);
    expect(await host.sh('ls $MATRYOSHKA_ROOT/usr/local/sbin $MATRYOSHKA_ROOT/run')).not.toContain(
      'matryoshka',
    );
  });

  it('make the host a router for their guests only, and keep foreign routing', async () => {
    const left = await host.plug('left', '198.51.100.1/24', '198.51.100.2/24');
    const right = await host.plug('right', '203.0.113.1/24', '203.0.113.2/24');
    await put(BRIDGE);
    const inside = await host.plug('inside', NAME, '10.9.0.2/24');
    expect(await inside.reaches('203.0.113.2')).toBe(true);
    expect(await left.reaches('203.0.113.2')).toBe(false);
    expect(await left.reaches('10.9.0.2')).toBe(true);

    // Docker does this, for instance.
    await host.sh('sysctl -qw net.ipv4.ip_forward=1');
    expect((await probe()).bridges).toMatchObject([{ whole: false }]);
    await put(BRIDGE);
    expect((await probe()).bridges).toEqual([WHOLE]);
    expect(await left.reaches('203.0.113.2')).toBe(true);
    await remove(NAME);
    expect(await right.reaches('198.51.100.2')).toBe(true);
    expect(await host.sh('sysctl -n net.ipv4.ip_forward')).toBe('1');
  });

  it('change their address, and keep their ports', async () => {
    await put(BRIDGE);
    await host.sh(`ip link add port type veth peer name plug; ip link set port master ${NAME}`);
    await put({ ...BRIDGE, cidr: '10.11.0.0/24', address: '10.11.0.9/24' });
    expect((await probe()).bridges).toEqual([{ ...WHOLE, addresses: ['10.11.0.9/24'] }]);
    expect(await host.sh(`ip -o link show master ${NAME}`)).toContain('port');
    expect(await host.sh('nft list ruleset')).not.toContain('10.9.0.0');
  });

  it('are repaired after any removal or change', async () => {
    await put(BRIDGE);
    for (const [command, found] of [
      [`ip link delete ${NAME}`, { addresses: [], whole: false }],
      [`ip addr flush dev ${NAME}`, { addresses: [] }],
      [`ip addr add 10.9.9.9/32 dev ${NAME}`, { addresses: ['10.9.0.1/24', '10.9.9.9/32'] }],
      [
        `ip addr flush dev ${NAME}; for n in 7 8; do ip addr add 10.8.0.$n/24 dev ${NAME}; done`,
        { addresses: ['10.8.0.7/24', '10.8.0.8/24'] },
      ],
      [`ip link set ${NAME} down`, { whole: false }],
      [`nft delete table ip ${NAME}`, { whole: false }],
      [`nft flush chain ip ${NAME} postrouting`, { whole: false }],
      ['for on in 1 0; do sysctl -qw net.ipv4.ip_forward=$on; done', { whole: false }],
      ['sysctl -qw net.ipv4.conf.uplink.forwarding=0', { whole: false }],
      [`nft delete chain ip ${NAME} forward`, { whole: false }],
    ] as const) {
      await host.sh(command);
      await by(mine, async ({ seen, put: again }) => {
        expect(seen.bridges, command).toMatchObject([found]);
        await again(BRIDGE);
      });
    }
    expect((await probe()).bridges).toEqual([WHOLE]);
  });

  it.each([
    ['a bridge', `ip link add ${NAME} type bridge`],
    [
      'a bridge with our alias',
      `ip link add ${NAME} type bridge; ip link set ${NAME} alias matryoshka:uid-1`,
    ],
    ['a table', `nft add table ip ${NAME}`],
  ])('neither change nor remove %s with their name that others created', async (_what, command) => {
    await host.sh(command);
    const theirs = await everything();
    await expect(put(BRIDGE)).rejects.toMatchObject({ reason: 'NameTaken' });
    await remove(NAME);
    expect(await everything()).toBe(theirs);
    expect(JSON.parse(await host.text('etc/matryoshka/owner.json'))).toMatchObject({ released: true });
  });

  it('are refused on a host of another cluster', async () => {
    await by(ofProcess(1, 'c-demo'), (session) => session.put(BRIDGE));
    const theirs = await everything();
    await expect(put(OTHER)).rejects.toMatchObject({ reason: 'HostConflict', message: /cluster c-demo/ });
    expect(await everything()).toBe(theirs);
  });

  it('are refused on a host of another cluster that lost its owner file', async () => {
    await by(ofProcess(1, 'c-demo'), (session) => session.put(BRIDGE));
    await host.sh('rm $MATRYOSHKA_ROOT/etc/matryoshka/owner.json');
    const theirs = await everything();
    for (const act of [probe, () => put(OTHER)])
      await expect(act()).rejects.toMatchObject({ reason: 'HostConflict', message: /made lists .* c-demo/ });
    expect(await everything()).toBe(theirs);
    // The host still has no owner file, so its owner can come back.
    await expect(host.text('etc/matryoshka/owner.json')).rejects.toThrow(/ENOENT/);
    await by(ofProcess(1, 'c-demo'), (session) => session.remove(NAME));
    expect(await everything()).toBe(untouched);
  });

  it('are refused to a process that a later one has replaced', async () => {
    await put(BRIDGE);
    await by(ofProcess(2), (session) => session.put(OTHER));
    await expect(remove(NAME)).rejects.toMatchObject({ reason: 'StaleRun' });
    expect((await host.sh('ip -o link show type bridge')).split('\n')).toHaveLength(2);
  });

  it('end the session of an earlier process', async () => {
    let late: unknown;
    await by(mine, async (session) => {
      await by(ofProcess(2), (later) => later.put(OTHER));
      late = await session.put(BRIDGE).catch((error: unknown) => error);
    }).catch(() => {});
    expect(late).toMatchObject({ reason: 'StaleRun' });
    expect(await host.sh('ip -o link show type bridge')).not.toContain(NAME);
  });

  it('are removed by a cluster that reclaims the host, by the manifest', async () => {
    await put(BRIDGE);
    await host.sh(
      `bash -c 'cd "$0"; . files/prelude.sh; ROLE=network; . roles/network/files/rules.sh; . roles/network/files/undo.sh' ${ANSIBLE}`,
    );
    expect(await everything()).toBe(untouched);
  });

  it('report foreign addresses and routes', async () => {
    await put(BRIDGE);
    await host.sh('ip route add 10.20.0.0/16 via 192.0.2.1; ip route add blackhole 10.30.0.0/16');
    const { foreign } = await probe();
    expect(foreign).toEqual(
      expect.arrayContaining([
        { link: 'uplink', to: '192.0.2.10/24' },
        { link: 'uplink', to: '10.20.0.0/16' },
        { link: '-', to: '10.30.0.0/16' },
      ]),
    );
    expect(foreign.map(({ to }) => to).join()).not.toContain('10.9.');
  });

  it('report addresses of SSH sessions, except those on their own bridges', async () => {
    await put(BRIDGE);
    const peers = ['10.44.0.7', '10.9.0.7'];
    const program = `
      const { connect, createServer } = require("node:net");
      setTimeout(() => process.exit(), 60_000);
      let open = 0;
      createServer(() => ++open === 2 && console.log("up")).listen(22, () => {
        for (const localAddress of "${peers}".split(",")) connect({ port: 22, host: "192.0.2.10", localAddress });
      });`;
    // The first address is far away, by the host's default route; the second is plugged into the bridge.
    const pid =
      await host.sh(`ip route add local 10.44.0.7 dev lo table local; ip route add local 10.9.0.7 dev ${NAME} table local
      cd $MATRYOSHKA_ROOT; node -e '${program}' > up 2>&1 & until [ -s up ]; do sleep 0.05; done; echo $!`);
    try {
      expect(await host.text('up')).toBe('up\n');
      const { foreign } = await probe();
      expect(foreign).toContainEqual({ link: 'an SSH session', to: '10.44.0.7' });
      expect(foreign.map(({ to }) => to)).not.toContain('10.9.0.7');
    } finally {
      await host.sh(`kill ${pid}`);
    }
  });

  it('are not created if another machine answers under the address', async () => {
    const { hostKeyLine, close } = await mine.reach(host.place);
    close();
    await using other = await bridgeHost();
    const pinned = hostKeyLine.replace(/^\S+/, `[127.0.0.1]:${other.place.port}`);
    const swapped = { ...other.place, pinned };
    await expect(mine.reach(swapped)).rejects.toMatchObject({ reason: 'HostKeyChanged' });
    // The new key is accepted only if the user adds it to known_hosts.
    const first = await mine.reach(other.place);
    first.close();
    const known = await mine.reach({ ...swapped, knownHosts: first.hostKeyLine });
    known.close();
    expect(known.hostKeyLine).toBe(first.hostKeyLine);
  });

  it('report a host that is lost during a session, and continue with the others', async () => {
    await using other = await bridgeHost();
    const grounds = [await mine.reach(host.place), await mine.reach(other.place)];
    await host.hangUp();
    // The first attempt may discover the closed connection; the second one knows.
    for (const ground of [grounds[0], grounds[0]])
      await expect(ground?.session((session) => session.put(BRIDGE))).rejects.toMatchObject({
        name: 'HostTrouble',
        reason: 'Unreachable',
      });
    await grounds[1]?.session((session) => session.put(BRIDGE));
    expect(await other.sh('ip -o link show type bridge')).toContain(NAME);
    for (const ground of grounds) ground.close();
  });

  it('do not retry an unreachable host at once, and still reach others', async () => {
    const gone = { ...host.place, port: 1 };
    const why = await mine.reach(gone).catch((error: unknown) => error);
    expect(why).toMatchObject({ reason: 'Unreachable' });
    await expect(mine.reach(gone)).rejects.toBe(why);
    (await mine.reach(host.place)).close();
  });

  describe('with the cases of every provider', () => {
    everyProvider(() => ({ provider: mine, place: host.place, nowhere: { ...host.place, port: 1 } }));
  });
});
