import { join } from 'node:path';
import { messageOf, UsageError } from '#base/errors.ts';
import { labReleases } from '#lab/artifacts/lab-releases.ts';
import { sayOnStderr as say } from '#lab/artifacts/progress.ts';
import { labDown } from '#lab/hosts/down.ts';
import type { LabHost } from '#lab/hosts/places.ts';
import { type Meta, metaUp } from '#lab/meta/meta.ts';
import { progressOf } from '#lab/upstream/progress.ts';
import { checkList, type ListName, prepare, reportsDir, tryFocus } from './check.ts';
import { type Change, changed, clusterUid, made } from './cluster.ts';
import { checkPolicies, POLICY_HOSTS, preparePolicies } from './policies.ts';

/**
 * `make conformance-cluster`: upstream's own suites on a cluster of three control planes and two workers that the operator
 * creates. They run before and after the cluster is scaled, a control plane is replaced, etcd is moved and Kubernetes is upgraded. Each spec of the
 * lists beside this file must run and pass. KEEP=1 leaves the lab running. A failed or interrupted run leaves it too, and
 * the next run continues after the last finished step. FOCUS=regexp runs only the upstream specs that match, and no step.
 * UPGRADE=1 makes no other change than the upgrade, and runs the shorter list before and after it. CYCLONUS=1 instead creates a cluster whose network enforces policies, and checks it with cyclonus.
 */

/** The meta cluster's host, three control planes, two workers, and one spare. */
const HOSTS = 7;
const { CYCLONUS, FOCUS, KEEP, PROCS = '4', UPGRADE } = process.env;

const [newest, older = newest] = labReleases;

type Step = { readonly name: string } & ({ readonly list: ListName } | { readonly change: Change });

function stepsOn(hosts: readonly LabHost[]): readonly Step[] {
  const at = (...indices: number[]) => indices.flatMap((index) => hosts[index] ?? []);
  const bodyOf = (all: readonly LabHost[]) => all.map(({ ip }) => ({ ip }));
  const scaled = (
    name: string,
    route: 'scaleup' | 'scaledown',
    list: 'masterList' | 'nodeList',
    to: readonly LabHost[],
  ): Step => ({ name, change: { route, body: { [list]: bodyOf(to) }, stands: { [list]: to } } });
  const [first, , , fourth] = hosts;
  const upgrade: Step = {
    name: `Kubernetes ${newest.kubernetes}`,
    change: {
      route: 'update',
      body: { kubeVersion: newest.kubernetes, drain: { force: true, deleteEmptyDirData: true } },
      stands: { version: newest.kubernetes },
    },
  };
  const after: readonly Step[] = [
    { name: "kubeadm's specs, after changes", list: 'kubeadm.txt' },
    { name: 'conformance, after changes', list: 'after-changes.txt' },
  ];
  if (UPGRADE)
    return [
      { name: "kubeadm's specs, as made", list: 'kubeadm.txt' },
      { name: 'conformance, before the upgrade', list: 'after-changes.txt' },
      upgrade,
      ...after,
    ];
  return [
    // This step is first: it needs the join token, which expires.
    { name: "kubeadm's specs, as made", list: 'kubeadm.txt' },
    { name: 'conformance, as made', list: 'specs.txt' },
    scaled('one worker more', 'scaleup', 'nodeList', at(3, 4, 5)),
    scaled('one control plane', 'scaledown', 'masterList', at(2)),
    scaled('three control planes again', 'scaleup', 'masterList', at(2, 0, 1)),
    scaled('one worker less', 'scaledown', 'nodeList', at(4, 5)),
    {
      name: 'a control plane replaced',
      change: {
        route: 'replace',
        body: { from: first?.ip, to: { ip: fourth?.ip } },
        stands: { masterList: at(1, 2, 3) },
      },
    },
    {
      name: 'etcd on a host of its own',
      change: { route: 'etcd/move', body: { etcdList: bodyOf(at(0)) }, stands: { etcdList: at(0) } },
    },
    upgrade,
    ...after,
  ];
}

async function goThrough(meta: Meta, procs: number): Promise<void> {
  const progress = await progressOf(await clusterUid(meta), join(reportsDir, 'progress.json'));
  const reported: string[] = [];
  for (const step of stepsOn(meta.hosts)) {
    if (progress.has(step.name)) {
      reported.push(`${step.name}: done by an earlier run`);
      continue;
    }
    const begun = performance.now();
    const what = 'list' in step ? await checkList(meta, step.list, step.name, procs, say) : 'done';
    if ('change' in step) await changed(meta, step.name, step.change, say);
    await progress.add(step.name);
    reported.push(`${step.name}: ${what}, ${((performance.now() - begun) / 1000).toFixed(0)} s`);
    say(`-- ${reported.at(-1)}`);
  }
  process.stdout.write(`${reported.join('\n')}\n`);
}

async function policies(): Promise<void> {
  await preparePolicies(say);
  const meta = await metaUp(POLICY_HOSTS, say);
  try {
    process.stdout.write(`${await checkPolicies(meta, Boolean(KEEP), say)}\n`);
  } finally {
    await meta.close();
  }
  if (!KEEP) await labDown(say);
}

async function main(): Promise<void> {
  if (CYCLONUS) return policies();
  if (!/^[1-9]\d?$/.test(PROCS)) throw new UsageError(`PROCS is a number from 1 to 99, not ${PROCS}`);
  await prepare(say);
  const meta = await metaUp(HOSTS, say);
  try {
    await made(meta, older.kubernetes, meta.hosts.slice(0, 3), meta.hosts.slice(3, 5), say);
    if (FOCUS) {
      const lines = await tryFocus(meta, FOCUS, Number(PROCS), say);
      process.stdout.write(`${lines.join('\n')}\n`);
    } else await goThrough(meta, Number(PROCS));
  } finally {
    await meta.close();
  }
  if (!KEEP && !FOCUS) await labDown(say);
}

try {
  await main();
} catch (error) {
  const text =
    error instanceof UsageError ? error.message : (error instanceof Error && error.stack) || messageOf(error);
  process.stderr.write(
    `conformance-cluster: ${text}\nWhat is there of the lab stays: run again to go on, "make lab-down" removes it.\n`,
  );
  process.exitCode = 1;
}
