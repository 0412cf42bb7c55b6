import pMap from 'p-map';
import { canonicalIp } from '#api/host.ts';
import { ABANDON, type Network, type NetworkHost } from '../api.ts';
import { type Bridge, type Ground, HostTrouble, type Provider } from '../bridges/provider.ts';
import { type Credentials, isLack, type Lack, placeOf } from './credentials.ts';
import { type Settled, settle } from './settle.ts';

/** Hosts of one Network at once. */
const AT_ONCE = 16;
const LEFT = { reason: 'Abandoned', message: 'the controller no longer tries' };

export interface PlannedHost {
  record: NetworkHost;
  /** Whether it gets the bridge; the others lose it. */
  stays: boolean;
}

/** Every host that the spec names or the record has: those that are not named any more, or of a Network that goes, leave. */
export function plannedHosts({ metadata, spec, status }: Network): PlannedHost[] {
  const known = new Map((status?.hosts ?? []).map((record) => [record.ip, record]));
  const named = new Map((spec.hosts ?? []).map((host) => [canonicalIp(host.ip) ?? host.ip, host]));
  const staying = metadata.deletionTimestamp
    ? []
    : [...named].map(([ip, { port, user }]): PlannedHost => {
        const { hostKey, reached, address, message } = known.get(ip) ?? {};
        const way = { ...(port === undefined ? {} : { port }), ...(user === undefined ? {} : { user }) };
        const found = {
          ...(hostKey === undefined ? {} : { hostKey }),
          ...(reached === undefined ? {} : { reached }),
          ...(address === undefined ? {} : { address }),
          ...(message === undefined ? {} : { message }),
        };
        return { record: { ip, ...way, ...found }, stays: true };
      });
  const ips = new Set(staying.map(({ record }) => record.ip));
  const leaving = [...known.values()].filter(({ ip }) => !ips.has(ip));
  return [...staying, ...leaving.map((record) => ({ record, stays: false }))];
}

/** A host that was reached, or why not. */
export type Reached = PlannedHost & ({ ground: Ground } | { trouble: { reason: string; message: string } });

/** Whether somebody has said that this host may be left as it is, should it leave. */
const isAbandoned = ({ metadata }: Network, ip: string): boolean =>
  (metadata.annotations?.[ABANDON] ?? '').split(',').some((one) => one.trim() === ip);

/**
 * Connects to hosts, and changes nothing there. A host that leaves need not be where it was never reached; one that is
 * abandoned is not tried any more, since a round in which many do not answer might not come to its end. Where it rejects, which
 * is for no fault of a host's, no connection is left open.
 */
export async function reachAll(
  provider: Provider,
  network: Network,
  hosts: readonly PlannedHost[],
  credentials: Credentials | Lack,
): Promise<Reached[]> {
  const open: Ground[] = [];
  const reach = async (host: PlannedHost): Promise<Reached> => {
    if (!host.stays && isAbandoned(network, host.record.ip)) return { ...host, trouble: LEFT };
    if (isLack(credentials)) return { ...host, trouble: credentials };
    try {
      const ground = await provider.reach(placeOf(host.record, credentials));
      open.push(ground);
      const record = { ...host.record, reached: true, hostKey: ground.hostKeyLine };
      return { ...host, record, ground };
    } catch (error) {
      return { ...host, trouble: asTrouble(error) };
    }
  };
  const concerned = hosts.filter(({ record, stays }) => stays || record.reached);
  try {
    return await each(concerned, reach);
  } catch (error) {
    for (const ground of open) ground.close();
    throw error;
  }
}

/** Makes or removes the bridge on each; what fails on one keeps no other. */
export function settleAll(
  hosts: readonly Reached[],
  bridge: Bridge,
  isGone: (name: string) => Promise<boolean>,
): Promise<Settled[]> {
  return each(hosts, async (host): Promise<Settled> => {
    if (!('ground' in host)) return failed(host, host.trouble);
    try {
      const wanted = { name: bridge.name, bridge: host.stays ? bridge : undefined };
      return await settle(host.ground, host.record, wanted, isGone);
    } catch (error) {
      return failed(host, asTrouble(error));
    }
  });
}

/** Does it for each, and tells of the first failure when all have ended: none is cut off in the middle by another's. */
async function each<T extends PlannedHost, U>(
  hosts: readonly T[],
  act: (host: T) => Promise<U>,
): Promise<U[]> {
  const ended = await pMap(
    hosts,
    (host) =>
      act(host).then(
        (done) => ({ done }),
        (error: unknown) => ({ error }),
      ),
    { concurrency: AT_ONCE },
  );
  return ended.map((one) => {
    if ('error' in one) throw one.error;
    return one.done;
  });
}

const asTrouble = (error: unknown): HostTrouble => {
  if (error instanceof HostTrouble) return error;
  throw error;
};

function failed(
  { record, stays }: PlannedHost,
  { reason, message }: { reason: string; message: string },
): Settled {
  const kept = { ...record, message: message.slice(0, 1024) };
  if (stays) return { record: kept, tellings: [], trouble: { reason, message } };
  const { ip } = record;
  // Its owner has wiped what was ours there, or it never was.
  if (reason === 'HostConflict') {
    const told = `${ip} is let go, since it is another's now: ${message}`;
    return { record: undefined, tellings: [{ type: 'Warning', reason: 'LetGo', message: told }] };
  }
  if (reason === LEFT.reason) {
    const told = `${ip} is let go with what may be left there: ${message}`;
    return { record: undefined, tellings: [{ type: 'Warning', reason: 'Abandoned', message: told }] };
  }
  const way = `; it is tried again, and annotation ${ABANDON}=${ip} lets it go as it is`;
  return { record: kept, tellings: [], trouble: { reason, message: `${message}${way}` } };
}
