import { overlaps } from '#api/cidr.ts';
import { type NetworkHost, networkAround } from '../api.ts';
import { type Bridge, type Ground, HostTrouble, type Seen, type Session } from '../bridges/provider.ts';

export interface Notice {
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
}

/** Host after a round. */
export interface HostOutcome {
  /** Undefined: the record is removed. */
  record: NetworkHost | undefined;
  notices: readonly Notice[];
  trouble?: { reason: string; message: string };
}

/** Returns what shares addresses with the bridge on that host: addresses and routes of others count alike. */
function occupantOf({ name, cidr }: Bridge, { bridges, foreign }: Seen): string | undefined {
  const network = networkAround(cidr);
  const isIn = (text: string) => {
    const other = networkAround(text);
    return network !== undefined && other !== undefined && overlaps(network, other);
  };
  const others = bridges.filter((one) => one.name !== name);
  const taken = [
    ...others.flatMap((one) => one.addresses.map((to) => ({ link: one.name, to }))),
    ...foreign,
  ].find(({ to }) => isIn(to));
  return taken && `${taken.to} of ${taken.link === '-' ? 'a route' : taken.link}`;
}

async function make(session: Session, record: NetworkHost, bridge: Bridge): Promise<Notice[]> {
  const there = session.seen.bridges.find(({ name }) => name === bridge.name);
  if (there?.whole && there.addresses.join() === bridge.address) return [];
  const occupant = occupantOf(bridge, session.seen);
  if (occupant !== undefined)
    throw new HostTrouble('AddressInUse', `${record.ip} has ${occupant} already, within ${bridge.cidr}`);
  await session.put(bridge);
  const what = `bridge ${bridge.name} with ${bridge.address} on ${record.ip}`;
  if (record.address === undefined)
    return [{ type: 'Normal', reason: 'Created', message: `${what} is made` }];
  return record.address === bridge.address
    ? [{ type: 'Warning', reason: 'Repaired', message: `${what} was gone or changed, and is put right` }]
    : [{ type: 'Normal', reason: 'Changed', message: `${what} had ${record.address} before` }];
}

/** Removes bridges whose objects the API server no longer has. */
async function sweep(
  { seen, remove }: Session,
  isGone: (name: string) => Promise<boolean>,
): Promise<string[]> {
  const swept: string[] = [];
  for (const { name } of seen.bridges) {
    if (!(await isGone(name))) continue;
    await remove(name);
    swept.push(name);
  }
  return swept;
}

/** Creates, corrects or removes the bridge on a host that was reached and is recorded. Throws HostTrouble. */
export async function applyToHost(
  ground: Ground,
  record: NetworkHost,
  wanted: { name: string; bridge: Bridge | undefined },
  isGone: (name: string) => Promise<boolean>,
): Promise<HostOutcome> {
  const { message: _past, ...rest } = record;
  return ground.session(async (session) => {
    const swept = await sweep(session, isGone);
    const left = { ...session, seen: without(session.seen, swept) };
    const orphans = swept.map(
      (name): Notice => ({
        type: 'Normal',
        reason: 'Swept',
        message: `bridge ${name} on ${record.ip} was of a Network that is gone, and is removed`,
      }),
    );
    if (wanted.bridge) {
      const notices = await make(left, record, wanted.bridge);
      return {
        record: { ...rest, address: wanted.bridge.address },
        notices: [...orphans, ...notices],
      };
    }
    await session.remove(wanted.name);
    const message = `bridge ${wanted.name} is removed from ${record.ip}`;
    const gone: Notice[] = record.address ? [{ type: 'Normal', reason: 'Removed', message }] : [];
    return { record: undefined, notices: [...orphans, ...gone] };
  });
}

const without = ({ bridges, foreign }: Seen, names: readonly string[]): Seen => ({
  bridges: bridges.filter(({ name }) => !names.includes(name)),
  foreign,
});
