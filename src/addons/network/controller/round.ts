import pMap from 'p-map';
import { canonicalIp } from '#api/host.ts';
import { ABANDON, type Network, type NetworkHost } from '../api.ts';
import { type Bridge, type Ground, HostTrouble, type Provider } from '../bridges/provider.ts';
import { applyToHost, type HostOutcome } from './apply.ts';
import { type Credentials, isLack, type Lack, placeOf } from './credentials.ts';

/** Concurrent hosts of one Network. */
const AT_ONCE = 16;
const LEFT = { reason: 'Abandoned', message: 'the controller no longer tries' };

export interface PlannedHost {
  record: NetworkHost;
  /** Whether the host gets the bridge; the others lose it. */
  stays: boolean;
}

/**
 * Lists every host that the spec names or status records. Hosts that are no longer named, or of a deleted Network, leave.
 */
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

/** Host that was reached, or the reason why it was not. */
export type Reached = PlannedHost & ({ ground: Ground } | { trouble: { reason: string; message: string } });

/** Whether the user allowed to leave this host without cleanup. */
const isAbandoned = ({ metadata }: Network, ip: string): boolean =>
  (metadata.annotations?.[ABANDON] ?? '').split(',').some((one) => one.trim() === ip);

/**
 * Connects to hosts and changes nothing there. A leaving host needs no visit if it was never reached. An abandoned host is
 * not tried, since a round with many silent hosts might not end. A rejection is never the fault of a host, and leaves no
 * connection open.
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

/** Creates or removes the bridge on each host; a failure on one host does not stop the others. */
export function applyToHosts(
  hosts: readonly Reached[],
  bridge: Bridge,
  isGone: (name: string) => Promise<boolean>,
): Promise<HostOutcome[]> {
  return each(hosts, async (host): Promise<HostOutcome> => {
    if (!('ground' in host)) return failed(host, host.trouble);
    try {
      const wanted = { name: bridge.name, bridge: host.stays ? bridge : undefined };
      return await applyToHost(host.ground, host.record, wanted, isGone);
    } catch (error) {
      return failed(host, asTrouble(error));
    }
  });
}

/**
 * Calls a function for each host; rejects with the first failure after all calls ended, so a failure interrupts no other
 * call.
 */
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
): HostOutcome {
  const kept = { ...record, message: message.slice(0, 1024) };
  if (stays) return { record: kept, notices: [], trouble: { reason, message } };
  const { ip } = record;
  // The new owner has wiped our bridge, or it never existed.
  if (reason === 'HostConflict') {
    const reported = `${ip} is let go, since it is another's now: ${message}`;
    return { record: undefined, notices: [{ type: 'Warning', reason: 'LetGo', message: reported }] };
  }
  if (reason === LEFT.reason) {
    const reported = `${ip} is let go with what may be left there: ${message}`;
    return { record: undefined, notices: [{ type: 'Warning', reason: 'Abandoned', message: reported }] };
  }
  const way = `; it is tried again, and annotation ${ABANDON}=${ip} lets it go as it is`;
  return { record: kept, notices: [], trouble: { reason, message: `${message}${way}` } };
}
