import { expect } from 'vitest';
import { z } from 'zod';
import { CONFIG_MAPS, type ConfigMap } from '#api/core.ts';
import { HOSTS, type HostRecord } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { differences, type HostSnapshot, snapshotHost } from '#lab/host-snapshot.ts';
import { docker } from '#lab/hosts/docker.ts';
import type { LabHost } from '#lab/hosts/places.ts';
import { clientOf, kubeconfigOf } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { ACTIONS } from '#protocol/run-spec.ts';
import { planSchema } from '#rest/plan.ts';

/** Compares hosts, nodes and records after an operation with its plan. */

const NODES: Resource = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false };
const OPERATOR = 'matryoshka-system';

const plannedHosts = z.array(z.object({ ip: z.string(), action: z.enum(ACTIONS) }));
type Planned = z.infer<typeof plannedHosts>;

interface Node extends KubeObject {
  spec: { taints?: readonly { key: string }[]; unschedulable?: boolean };
}

type AddressOf = (host: LabHost) => string;

interface Standing {
  /** Number of SSH logins so far, by address of the host. */
  logins: Map<string, number>;
  /** Snapshots of hosts without a cluster, if they are compared. */
  bare: Map<string, HostSnapshot>;
  records: Map<string, HostRecord>;
  /** The part of a node that an operation may change, by address. */
  nodes: Map<string, unknown>;
}

const cluster = ({ client }: Meta, name: string) =>
  client.find<KubernetesCluster>(KUBERNETES_CLUSTERS, { namespace: 'default', name });

const loginsOf = async (host: string): Promise<number> =>
  Number(
    await docker(['exec', host, 'sh', '-c', 'journalctl -q -u ssh -o cat | grep -c "^Accepted " || true']),
  );

async function nodesOf(meta: Meta, name: string): Promise<Map<string, unknown>> {
  const found = await cluster(meta, name);
  if (!found?.status?.version) return new Map();
  const client = await clientOf(await kubeconfigOf(meta, name));
  try {
    const { items } = await client.list<Node>(NODES);
    return new Map(
      items.map(({ metadata, spec }) => [
        metadata.name ?? '',
        {
          uid: metadata.uid,
          labels: metadata.labels,
          taints: lasting(spec.taints),
          cordoned: spec.unschedulable,
        },
      ]),
    );
  } finally {
    await client.close();
  }
}

async function standing(meta: Meta, name: string, files: boolean, addressOf: AddressOf): Promise<Standing> {
  const { items } = await meta.client.list<HostRecord>(HOSTS, { namespace: OPERATOR });
  const records = new Map(items.map((record) => [record.spec.ip, record]));
  const logins = new Map<string, number>();
  const bare = new Map<string, HostSnapshot>();
  for (const host of meta.hosts) {
    const ip = addressOf(host);
    logins.set(ip, await loginsOf(host.name));
    if (files && !records.has(ip)) bare.set(ip, await snapshotHost(host.name));
  }
  return { logins, bare, records, nodes: await nodesOf(meta, name) };
}

/** Kubernetes sets and removes these taints as nodes come and go (Well-Known Labels, Annotations and Taints). */
const lasting = (taints: readonly { key: string }[] = []) =>
  taints.filter(({ key }) => !/^node\.kubernetes\.io\/(not-ready|unreachable)$/.test(key));

const recorded = z.object({ hosts: plannedHosts, steps: z.array(z.object({ name: z.string() })) });

/** Returns the plan from the record of the last operation. Expects that the record has no difference. */
async function recordedPlan(meta: Meta, name: string): Promise<Planned> {
  const operation = (await cluster(meta, name))?.status?.operation;
  if (!operation) throw new Error(`${name} has no operation`);
  const key = { namespace: 'default', name: `kube-${operation.name}-${operation.id}` };
  const read = async () => (await meta.client.get<ConfigMap>(CONFIG_MAPS, key)).data;
  // The object shows the end first; the record is complete right after.
  await expect.poll(async () => (await read())?.['result'], { timeout: 10_000 }).not.toBe('running');
  const data = await read();
  expect(data?.['difference'], 'the difference of plan and result').toBe('');
  return recorded.parse(JSON.parse(data?.['plan'] ?? '')).hosts;
}

/** Returns the hosts of a dry run's plan, each with its action. Expects no refusals. */
export async function dryRun(
  meta: Meta,
  method: 'POST' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<Planned> {
  const answer = await meta.rest.raw(method, `${path}?dryRun=All`, body);
  const { plan } = z.object({ plan: planSchema }).parse(answer.body);
  expect(plan.refusals).toEqual([]);
  return plan.hosts.map(({ ip, action }) => ({ ip, action }));
}

/**
 * Runs an operation, which `act` requests and awaits, and compares its results with its plan. Hosts outside of the plan had
 * no login, nodes of others are unchanged, and records have the results. `plan`: the plan of an earlier dry run; default:
 * the plan of the operation's record. `files`: also compares the files of hosts without a cluster (some seconds a host).
 * `addressOf`: the address in the cluster's host lists.
 */
export async function asPlanned(
  meta: Meta,
  name: string,
  act: () => Promise<unknown>,
  {
    plan,
    files = false,
    addressOf = ({ ip }) => ip,
  }: { plan?: Planned; files?: boolean; addressOf?: AddressOf } = {},
): Promise<void> {
  const before = await standing(meta, name, files, addressOf);
  await act();
  const gone = (await cluster(meta, name)) === undefined;
  const planned = gone ? (plan ?? []) : await recordedPlan(meta, name);
  if (plan) expect(planned, 'the plan that was carried out').toEqual(plan);
  const action = new Map(planned.map((host) => [host.ip, host.action]));
  const after = await standing(meta, name, files, addressOf);
  for (const one of meta.hosts) {
    const [ip, host] = [addressOf(one), one.name];
    if (action.has(ip)) continue;
    expect(after.logins.get(ip), `logins on ${host}, which the plan does not name`).toBe(
      before.logins.get(ip),
    );
    const [was, is] = [before.bare.get(ip), after.bare.get(ip)];
    if (was && is) expect(differences(was, is), host).toEqual([]);
    expect(after.records.get(ip), `the record of ${ip}`).toEqual(before.records.get(ip));
  }
  for (const [ip, does] of action) expectHostResult(does, before.records.get(ip), after.records.get(ip), ip);
  if (!gone) expectNodes(action, before, after);
}

/** Checks a Host record after an operation that has succeeded. */
function expectHostResult(
  action: Planned[number]['action'],
  before: HostRecord | undefined,
  after: HostRecord | undefined,
  ip: string,
): void {
  const run = after?.status?.lastRun;
  if (action === 'leave') expect(after, `the record of ${ip}, which left`).toBeUndefined();
  if (action === 'stay') expect(run, `the record of ${ip}, which stayed`).toEqual(before?.status?.lastRun);
  if (action === 'join') expect([after?.status?.state, run?.ok], ip).toEqual(['Joined', true]);
  if (action === 'join') expect(run?.did, ip).toEqual(['taken', 'prepared', 'joined']);
  if (action === 'change')
    expect(run, ip).toMatchObject({ ok: true, did: expect.arrayContaining(['changed']) });
}

function expectNodes(action: ReadonlyMap<string, string>, before: Standing, after: Standing): void {
  const addressOf = (node: string): string | undefined =>
    [...after.records.values(), ...before.records.values()].find(({ spec }) => spec.name === node)?.spec.ip;
  for (const node of new Set([...before.nodes.keys(), ...after.nodes.keys()])) {
    const does = action.get(addressOf(node) ?? '');
    const [was, is] = [before.nodes.get(node), after.nodes.get(node)];
    if (does === 'join') expect(is, `node ${node} joined`).toBeDefined();
    else if (does === 'leave') expect(is, `node ${node} left`).toBeUndefined();
    else if (does !== 'change') expect(is, `node ${node}, of which the plan says nothing`).toEqual(was);
  }
}
