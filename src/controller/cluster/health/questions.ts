import { z } from 'zod';
import type { Connection, GetOptions } from '#cluster-access/connection.ts';
import { DRIFT_ANNOTATION, driftIn } from './drift.ts';
import { DRIFT_OF_ETCD_ANNOTATION, driftOfEtcdIn } from './drift-of-etcd.ts';
import type { EtcdPodSeen, NodeSeen, ServerSeen, ServerState } from './judge/seen.ts';
import { MEMBERS_ANNOTATION, membersIn } from './members.ts';

const KIB = 1024;
/**
 * Limits of answers. A table of 2,000 nodes has 0.6 MB. Their leases have 2.6 MB, and 5 MB at most with drift reports. Five
 * pods have 60 KB; /readyz lists about sixty checks.
 */
const MAX_BYTES = { nodes: 1024 * KIB, leases: 6144 * KIB, pods: 256 * KIB, readyz: 32 * KIB };
const MAX_FAILED = 5;
/**
 * A kubelet renews its lease every 10 s, and the cluster marks its node as not Ready after 50 s. It takes longer if the
 * leading controller manager was on the lost host, because the next leader starts counting anew.
 */
const STALE_MS = 60_000;
/** The limit in lease durations, for a kubelet with a longer lease: it renews after a quarter of the duration (kubelet). */
const STALE_LEASES = 1.5;
/** The columns of `kubectl get nodes`: 250 bytes for each node, where the whole object has 10,000. */
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';

/** Asks an API server for its readiness. An error is also a result. */
export async function askReadiness(connection: Connection, signal: AbortSignal): Promise<ServerSeen> {
  const { ip } = connection;
  try {
    const { status, body } = await connection.get('/readyz', {
      signal,
      maxBytes: MAX_BYTES.readyz,
      accept: '*/*',
    });
    const { certificateEnds } = connection;
    if (status === 200) return { ip, state: 'ready', certificateEnds };
    if (status === 401 || status === 403) return { ip, state: 'refusing', certificateEnds };
    const failed = [...body.matchAll(/^\[-\]([a-z0-9/.-]{1,60}) failed/gm)].map(([, check = '']) => check);
    return { ip, state: 'not-ready', failed: failed.sort().slice(0, MAX_FAILED), certificateEnds };
  } catch (error) {
    return { ip, state: stateOf(error), certificateEnds: connection.certificateEnds };
  }
}

/** OpenSSL's codes for a certificate of another authority, and Node's code for one of another address. */
const UNTRUSTED = /^ERR_TLS_CERT_ALTNAME_INVALID$|^CERT_|_CERT(_|$)|SIGNATURE|^INVALID_CA$|^PATH_LENGTH/;

function stateOf(error: unknown): ServerState {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'CERT_HAS_EXPIRED') return 'expired';
  return UNTRUSTED.test(code) ? 'untrusted' : 'silent';
}

/** The table as the API server prints it; these columns are unchanged since Kubernetes 1.10. */
const tableSchema = z.object({
  columnDefinitions: z.array(z.object({ name: z.string() })),
  rows: z.array(z.object({ cells: z.array(z.unknown()) })),
});
const leasesSchema = z.object({
  items: z.array(
    z.object({
      metadata: z.object({
        name: z.string(),
        annotations: z.record(z.string(), z.unknown()).optional(),
      }),
      spec: z
        .object({ renewTime: z.string().optional(), leaseDurationSeconds: z.number().optional() })
        .optional(),
    }),
  ),
});
const podsSchema = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string(), deletionTimestamp: z.string().optional() }),
      spec: z.object({ nodeName: z.string().optional() }),
      status: z.object({
        conditions: z.array(z.object({ type: z.string(), status: z.string() })).optional(),
      }),
    }),
  ),
});

/** The names that a cluster may give its nodes; others come from a server that imitates an API server. */
const NODE_NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/**
 * Returns the nodes, and whether each is Ready. A node's status does not change while no controller manager runs or etcd
 * refuses writes. Therefore the kubelet must also have renewed its lease.
 */
export async function askNodes(connection: Connection, signal: AbortSignal): Promise<NodeSeen[]> {
  const { value } = await ask(connection, '/api/v1/nodes?resourceVersion=0&includeObject=None', tableSchema, {
    signal,
    maxBytes: MAX_BYTES.nodes,
    accept: TABLE,
  });
  const at = (name: string) => value.columnDefinitions.findIndex((column) => column.name === name);
  const [name, status] = [at('Name'), at('Status')];
  const { stale, reported } = await askLeases(connection, signal);
  const names = new Set<string>();
  return value.rows.flatMap(({ cells }) => {
    const node = cells[name];
    // A hostile server could send several rows for a node, each with a report to parse.
    if (typeof node !== 'string' || !NODE_NAME.test(node) || names.has(node)) return [];
    names.add(node);
    // "Ready", "NotReady", "Ready,SchedulingDisabled"
    const ready = String(cells[status]).split(',').includes('Ready');
    const silent = ready && stale.has(node);
    const seen = { name: node, ...reported.get(node) };
    return [silent ? { ...seen, ready: false, silent } : { ...seen, ready }];
  });
}

interface Leases {
  /** Nodes whose kubelet does not renew its lease. */
  stale: ReadonlySet<string>;
  /** The report of each host, by node name. */
  reported: ReadonlyMap<string, Pick<NodeSeen, 'drift' | 'driftOfEtcd' | 'etcd'>>;
}

/** Reads the leases of all nodes. A kubelet may write only its own lease, so the report there comes from its host. */
async function askLeases(connection: Connection, signal: AbortSignal): Promise<Leases> {
  const path = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?resourceVersion=0';
  const { value, date } = await ask(connection, path, leasesSchema, { signal, maxBytes: MAX_BYTES.leases });
  const stale = ({ spec }: (typeof value.items)[number]) =>
    date !== undefined &&
    date.getTime() - Date.parse(spec?.renewTime ?? '') >
      Math.max(STALE_MS, STALE_LEASES * 1_000 * (spec?.leaseDurationSeconds ?? 0));
  return {
    stale: new Set(value.items.filter(stale).map(({ metadata }) => metadata.name)),
    reported: new Map(
      value.items.map(({ metadata: { name, annotations } }) => [
        name,
        {
          drift: driftIn(annotations?.[DRIFT_ANNOTATION], date),
          driftOfEtcd: driftOfEtcdIn(annotations?.[DRIFT_OF_ETCD_ANNOTATION], date),
          etcd: membersIn(annotations?.[MEMBERS_ANNOTATION], date),
        },
      ]),
    ),
  };
}

/** Returns the static pods of etcd, each with its node. */
export async function askEtcdPods(connection: Connection, signal: AbortSignal): Promise<EtcdPodSeen[]> {
  const selector = encodeURIComponent('component=etcd,tier=control-plane');
  const path = `/api/v1/namespaces/kube-system/pods?labelSelector=${selector}&resourceVersion=0`;
  const { value } = await ask(connection, path, podsSchema, { signal, maxBytes: MAX_BYTES.pods });
  return value.items.flatMap(({ metadata, spec, status }) => {
    const node = spec.nodeName ?? '';
    if (metadata.name !== `etcd-${node}`) return [];
    const isReady = status.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') ?? false;
    return [{ node, ready: isReady && metadata.deletionTimestamp === undefined }];
  });
}

/** Returns the size of etcd's files as an API server last saw it; keeps one line of a megabyte of metrics. */
export async function askDatabaseBytes(
  connection: Connection,
  signal: AbortSignal,
): Promise<number | undefined> {
  const found = await connection.find(
    '/metrics',
    /^apiserver_storage_size_bytes\{[^}]*\} ([0-9.e+]+)$/,
    signal,
  );
  const bytes = Number(found?.[1]);
  return Number.isFinite(bytes) ? bytes : undefined;
}

async function ask<T>(
  connection: Connection,
  path: string,
  schema: z.ZodType<T>,
  options: GetOptions,
): Promise<{ value: T; date: Date | undefined }> {
  const { status, body, date } = await connection.get(path, options);
  if (status !== 200) throw new Error(`GET ${path}: ${status}`);
  return { value: schema.parse(JSON.parse(body)), date };
}
