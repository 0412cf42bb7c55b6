import { operationUnderWay } from '#api/cluster-facts.ts';
import { type HostRecord, type HostRecordStatus, type HostState, stateOf } from '#api/host-record.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Operation } from '#operations/operation.ts';
import type { HostReport, Report } from '#protocol/report.ts';
import { joins, type PlannedHost } from '#protocol/run-spec.ts';
import { hooksHaveBegun } from './due-hook.ts';
import { wasLeftAsItWas } from './leaving.ts';
import type { Effect, Outcome, Stall } from './outcome.ts';
import type { Snapshot } from './snapshot.ts';

const MAX_MESSAGE = 500;

type Note = Extract<Effect, { kind: 'note' }>['hosts'][number];

/** Returns the status of a Host record from what the run reported. */
function noteOf(
  { attempt, operation }: Snapshot,
  task: Operation,
  state: HostState,
  host: HostReport | undefined,
  message?: string,
): HostRecordStatus {
  const endedAt = 'endedAt' in attempt ? attempt.endedAt : undefined;
  const did = host?.did ?? [];
  return {
    state,
    ...(did.length > 0 || state === 'Joined' ? { touched: true } : {}),
    ...(host?.machineId === undefined || host.machineId === '' ? {} : { machineId: host.machineId }),
    ...(host?.hostKeys === undefined ? {} : { hostKeys: host.hostKeys }),
    ...(host?.versions === undefined ? {} : { versions: host.versions }),
    lastRun: {
      operation: task.name,
      sequence: operation?.sequence ?? 0,
      attempt: operation?.attempt ?? 0,
      did,
      ok: host?.ok ?? message === undefined,
      ...(message === undefined ? {} : { message: message.slice(0, MAX_MESSAGE) }),
      at: endedAt ?? operation?.startedAt ?? '',
    },
  };
}

const differs = (record: HostRecord, status: HostRecordStatus): boolean =>
  canonicalJson({ ...record.status, ...status }) !== canonicalJson(record.status ?? {});

const CHANGED = /^HostChanged\b/;

/** Holds hosts again that a run joined and whose records were deleted meanwhile; undefined if there are none. */
function heldAgain(
  { hosts, plan, takenAway }: Snapshot,
  wasMade: (ip: string) => boolean = () => true,
): Effect | undefined {
  const known = new Set([...hosts.map(({ spec }) => spec.ip), ...takenAway]);
  const clusterHosts = (plan?.hosts ?? [])
    .filter((host) => joins(host) && !known.has(host.member.ip) && wasMade(host.member.ip))
    .map(({ member: host }) => host);
  return clusterHosts.length > 0 ? { kind: 'hold-again', hosts: clusterHosts } : undefined;
}

/** Marks each host that the run could reach as touched. A run without a report may have changed any of them. */
export function touchedBy(snapshot: Snapshot): Effect[] {
  const { hosts, plan } = snapshot;
  const again = heldAgain(snapshot);
  const reachable = hosts.filter(({ spec }) => plan?.hosts.some(({ member: host }) => host.ip === spec.ip));
  return [...touched(reachable), ...(again ? [again] : [])];
}

/**
 * Marks the hosts of the running attempt as touched before a deletion takes over, or before the rest of the object is
 * deleted.
 */
export function touchedBefore(snapshot: Snapshot): Effect[] {
  const { attempt, attempts, cluster, hosts, hook } = snapshot;
  const running = operationUnderWay(cluster);
  if (running) return hasBegun(attempt, running) || hooksHaveBegun(hook, running) ? touchedBy(snapshot) : [];
  // Status is gone, and with it the operation of the run.
  const isUnknown = cluster.status?.operation === undefined;
  return isUnknown && attempts.some(({ auxiliary }) => auxiliary === undefined) ? touched(hosts) : [];
}

/** Whether a run of the operation may have reached a host. A run whose pod cannot start reached none. */
export const hasBegun = (attempt: Snapshot['attempt'], { attempt: count }: { attempt: number }): boolean =>
  count > 1 || (attempt.kind !== 'absent' && !(attempt.kind === 'running' && attempt.blocked));

function touched(hosts: Snapshot['hosts']): Effect[] {
  const fresh = hosts.filter(({ status }) => status?.touched !== true);
  if (fresh.length === 0) return [];
  return [{ kind: 'note', hosts: fresh.map(({ spec }) => ({ ip: spec.ip, status: { touched: true } })) }];
}

/** Returns the writes to Host records that must precede a success; undefined if all are done. */
export function hostRecordWrites(snapshot: Snapshot, task: Operation): Outcome | undefined {
  const { attempt, hosts, plan } = snapshot;
  const report = attempt.kind === 'succeeded' ? attempt.report : undefined;
  const said = new Map(report?.hosts.map((host) => [host.ip, host]));
  const records = new Map(hosts.map((record) => [record.spec.ip, record]));
  const notes: Note[] = [];
  const released: string[] = [];
  const rewritten: PlannedHost[] = [];
  for (const planned of plan?.hosts ?? []) {
    const record = records.get(planned.member.ip);
    if (!record) continue;
    const host = said.get(planned.member.ip);
    if (planned.action === 'join') notes.push(done(snapshot, task, record, host, 'Joined'));
    if (planned.action === 'change') {
      // A run that connected only to other hosts did not repair what an earlier run missed on this host.
      const isReached = plan?.steps.some(({ hosts: at }) => at.includes(planned.member.ip)) ?? true;
      if (isReached || record.status?.lastRun?.ok !== false)
        notes.push(done(snapshot, task, record, host, stateOf(record)));
      if (host?.ok !== false) rewritten.push(planned);
    }
    if (planned.action !== 'leave') continue;
    const left = leftBehind(snapshot, task, record, host, report);
    if (left) notes.push(left);
    else released.push(planned.member.ip);
  }
  const fresh = notes.filter(({ ip, status }) => differs(need(records, ip), status));
  const toRewrite = rewritten.filter(({ member: host }) => hasOtherSpec(need(records, host.ip), host));
  // A record has one writer at a time: the run's result follows once the new labels are seen.
  if (toRewrite.length > 0)
    return { kind: 'act', effects: [{ kind: 'rewrite', hosts: toRewrite.map(({ member: host }) => host) }] };
  const effects: Effect[] = [];
  // A deletion does not need them: their Secret goes with the cluster, and a terminating namespace accepts no Secret.
  const keys = task.name === 'delete' || fresh.length === 0 ? [] : keysIn(report);
  if (keys.length > 0) effects.push({ kind: 'keep-host-keys', hosts: keys });
  if (fresh.length > 0) effects.push({ kind: 'note', hosts: fresh });
  if (released.length > 0) effects.push({ kind: 'release', hosts: released });
  // Last, so that a host that cannot be held again does not block the writes for the others.
  const again = heldAgain(snapshot);
  if (effects.length === 0 && again) effects.push(again);
  const [first, ...others] = effects;
  return first && { kind: 'act', effects: [first, ...others] };
}

function need(records: ReadonlyMap<string, HostRecord>, ip: string): HostRecord {
  const record = records.get(ip);
  if (!record) throw new Error(`there is no record of host ${ip}`);
  return record;
}

const comparable = ({ labels = {}, taints = [], duties }: PlannedHost['member']) =>
  canonicalJson([labels, taints, duties]);
const hasOtherSpec = ({ spec }: HostRecord, host: PlannedHost['member']): boolean =>
  comparable(spec) !== comparable(host);

const keysIn = (report: Report | undefined) =>
  (report?.hosts ?? []).flatMap(({ ip, hostKeys = [] }) =>
    hostKeys.length > 0 ? [{ ip, keys: hostKeys }] : [],
  );

/**
 * Returns the note of a host that joined or changed. A complete run did so on each host that it does not report as failed.
 */
function done(
  snapshot: Snapshot,
  task: Operation,
  record: HostRecord,
  host: HostReport | undefined,
  state: HostState,
): Note {
  const { ip } = record.spec;
  if (host?.ok === false)
    return { ip, status: noteOf(snapshot, task, stateOf(record), host, host.message ?? 'it was not done') };
  return { ip, status: noteOf(snapshot, task, state, host) };
}

/** Returns the note of a host that was to leave and did not; undefined if its record can go. */
function leftBehind(
  snapshot: Snapshot,
  task: Operation,
  record: HostRecord,
  host: HostReport | undefined,
  report: Report | undefined,
): Note | undefined {
  const { ip } = record.spec;
  if (host?.ok) return undefined;
  // No run ever reached it, this one included, so it carries nothing of the cluster.
  if (report && host && host.did.length === 0 && !wasTouched(record)) return undefined;
  const why = host?.message ?? (report ? 'the run did not name it' : 'the report of its reset was lost');
  const state = CHANGED.test(why) ? 'Lost' : 'Unclean';
  const message = `${ip} could not be reset and is remembered as ${state.toLowerCase()}: ${why}`;
  const warning: Stall = { reason: state === 'Lost' ? 'HostChanged' : 'HostUnclean', message };
  const free = record.status?.taken ? { taken: false } : {};
  const resets = resetsOf(snapshot, record);
  return { ip, status: { ...noteOf(snapshot, task, state, host, why), ...free, resets }, warning };
}

/** Returns how many operations failed to reset the host since it left; each operation counts once. */
function resetsOf({ operation }: Snapshot, { status: { resets, lastRun } = {} }: HostRecord): number {
  if (resets === undefined) return 0;
  return lastRun?.sequence === operation?.sequence ? resets : resets + 1;
}

const wasTouched = ({ status }: HostRecord): boolean =>
  status?.touched === true || (status?.state !== undefined && status.state !== 'Held');

/** Whether no run ever logged in to the host. Only a machine that accepts a login reports its machine-id. */
const wasNeverEntered = (record: HostRecord, host: HostReport): boolean =>
  !wasTouched(record) &&
  record.status?.machineId === undefined &&
  !host.ok &&
  host.did.length === 0 &&
  host.machineId === undefined;

/** Returns the writes to Host records after a failed run: hosts that joined, and what each host reported. */
export function afterFailure(snapshot: Snapshot, task: Operation): Outcome | undefined {
  const { attempt, hosts, plan } = snapshot;
  if (attempt.kind !== 'failed') return undefined;
  const planned = new Map(plan?.hosts.map((host) => [host.member.ip, host]));
  const records = new Map(hosts.map((record) => [record.spec.ip, record]));
  const strangers = (attempt.report?.hosts ?? []).filter((host) => {
    const record = records.get(host.ip);
    return planned.get(host.ip)?.action === 'join' && record !== undefined && wasNeverEntered(record, host);
  });
  const notes = (attempt.report?.hosts ?? []).flatMap((host): Note[] => {
    const [of, record] = [planned.get(host.ip), records.get(host.ip)];
    if (!of || !record || of.action === 'stay' || strangers.includes(host)) return [];
    const isJoined =
      (of.action === 'join' && host.ok) ||
      (attempt.report && wasLeftAsItWas(task, snapshot.operation, record, host, attempt.report));
    const state = isJoined ? 'Joined' : stateOf(record);
    const status = noteOf(
      snapshot,
      task,
      state,
      host,
      host.ok ? undefined : (host.message ?? attempt.message),
    );
    return differs(record, status) ? [{ ip: host.ip, status }] : [];
  });
  if (notes.length === 0) {
    // A cluster keeps no address that no run could enter; the operation's message says what was wrong there.
    if (strangers.length > 0)
      return { kind: 'act', effects: [{ kind: 'release', hosts: strangers.map(({ ip }) => ip) }] };
    const made = new Set(attempt.report?.hosts.flatMap(({ ip, did }) => (did.length > 0 ? [ip] : [])));
    const again = heldAgain(snapshot, (ip) => made.has(ip));
    const [first, ...others] = attempt.report ? (again ? [again] : []) : touchedBy(snapshot);
    return first && { kind: 'act', effects: [first, ...others] };
  }
  const keys = task.name === 'delete' ? [] : keysIn(attempt.report);
  const note: Effect = { kind: 'note', hosts: notes };
  return {
    kind: 'act',
    effects: keys.length > 0 ? [{ kind: 'keep-host-keys', hosts: keys }, note] : [note],
  };
}
