import { expect, it } from 'vitest';
import { bridgeNameOf } from '../bridge-name.ts';
import type { Bridge, Place, Provider, Session } from '../provider.ts';

export interface ProviderWorld {
  provider: Provider;
  /** Host without an owner. */
  place: Place;
  /** Place where no host answers. */
  nowhere: Place;
}

const BRIDGE: Bridge = {
  ...{ name: bridgeNameOf('uid-1'), id: 'uid-1' },
  ...{ cidr: '10.9.0.0/24', address: '10.9.0.1/24' },
};
const OTHER: Bridge = {
  ...{ name: bridgeNameOf('uid-2'), id: 'uid-2' },
  ...{ cidr: '10.10.0.0/16', address: '10.10.3.1/16' },
};
const standing = ({ name, address }: Bridge) => ({ name, addresses: [address], whole: true });

/** Runs one session on a host. */
export async function visit<T>(
  provider: Provider,
  place: Place,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const ground = await provider.reach(place);
  try {
    return await ground.session(work);
  } finally {
    ground.close();
  }
}

/** Defines the cases that every provider passes. Each provider has a test file that runs them in its own world. */
export function everyProvider(given: () => ProviderWorld): void {
  const by = <T>(work: (session: Session) => Promise<T>) => visit(given().provider, given().place, work);
  const bridges = () =>
    by(async ({ seen }) => [...seen.bridges].sort((a, b) => a.name.localeCompare(b.name)));
  const sorted = (...all: readonly Bridge[]) =>
    all.map(standing).sort((a, b) => a.name.localeCompare(b.name));

  it('shows a bridge to a later session, and keeps it the same when it is put again', async () => {
    expect(await bridges()).toEqual([]);
    for (const _time of [1, 2]) {
      await by(({ put }) => put(BRIDGE));
      expect(await bridges()).toEqual([standing(BRIDGE)]);
    }
  });

  it('changes the bridge of that name, and keeps the others', async () => {
    await by(async ({ put }) => {
      await put(BRIDGE);
      await put(OTHER);
    });
    const moved = { ...BRIDGE, cidr: '10.11.0.0/24', address: '10.11.0.9/24' };
    await by(({ put }) => put(moved));
    expect(await bridges()).toEqual(sorted(moved, OTHER));
    await by(({ remove }) => remove(BRIDGE.name));
    expect(await bridges()).toEqual([standing(OTHER)]);
  });

  it('removes a bridge that does not exist', async () => {
    for (const _time of [1, 2]) await by(({ remove }) => remove(BRIDGE.name));
    expect(await bridges()).toEqual([]);
  });

  it('shows a session the bridges from before it', async () => {
    const seen = await by(async (session) => {
      await session.put(BRIDGE);
      return session.seen.bridges;
    });
    expect(seen).toEqual([]);
  });

  it('runs one session after the other on a host', async () => {
    const log: string[] = [];
    await Promise.all(
      ['a', 'b', 'c'].map((name) =>
        by(async ({ put }) => {
          log.push(`+${name}`);
          await put(BRIDGE);
          log.push(`-${name}`);
        }),
      ),
    );
    for (let at = 0; at < log.length; at += 2) expect(log[at + 1]).toBe(`-${log[at]?.slice(1)}`);
    expect(log).toHaveLength(6);
  });

  it('reports an error in a session, and keeps the bridge that it created', async () => {
    const failing = by(async ({ put }) => {
      await put(BRIDGE);
      throw new TypeError('a fault');
    });
    await expect(failing).rejects.toThrow('a fault');
    expect(await bridges()).toEqual([standing(BRIDGE)]);
  });

  it('shows the same host key each time, which can be pinned', async () => {
    const first = await given().provider.reach(given().place);
    first.close();
    const pinned = await given().provider.reach({ ...given().place, pinned: first.hostKeyLine });
    pinned.close();
    expect(pinned.hostKeyLine).toBe(first.hostKeyLine);
  });

  it('names a host that does not answer', async () => {
    await expect(given().provider.reach(given().nowhere)).rejects.toMatchObject({
      name: 'HostTrouble',
      reason: 'Unreachable',
    });
  });
}
