import { clusterHostsOf, hasEtcd, isEtcdOnly, isMaster } from '#api/cluster-host.ts';
import { stateOf } from '#api/host-record.ts';
import { versionSchema } from '#api/kubernetes-cluster.ts';
import { upgradeSchema } from '#api/upgrade.ts';
import type { Problem } from '#base/errors.ts';
import type { PlannedHost } from '#protocol/run-spec.ts';
import { PREPARE_UPGRADE } from '#protocol/upgrade-vars.ts';
import { onlyChanges } from './changes.ts';
import { drainField, UPGRADE_WORKERS } from './drain.ts';
import { isExternalEtcd } from './etcd.ts';
import { named, type Operation } from './operation.ts';
import type { Situation, StepPlan } from './plan-for.ts';
import { editRequest, retryField } from './request.ts';
import { isLater, isNext, nextOf } from './version-order.ts';

const FIELD = 'spec.cluster.kubeVersion';
const isControlPlane = ({ member: host }: PlannedHost): boolean => isMaster(host);
const isWorker = (host: PlannedHost): boolean => !isControlPlane(host) && !isEtcdOnly(host.member);
/** Whether the host has a part of the control plane, or etcd. */
const hasData = (host: PlannedHost): boolean => isControlPlane(host) || isExternalEtcd(host);
const hasSeveral = (all: readonly PlannedHost[], of: (host: PlannedHost) => boolean): boolean =>
  all.filter(of).length > 1;

/** Refuses a version to which kubeadm cannot upgrade in one step. */
function versionProblems({ applied, spec, version, offer }: Situation): Problem[] {
  const [from, to] = [version ?? applied?.cluster.kubeVersion, spec.cluster.kubeVersion];
  if (from === undefined || to === undefined) return [];
  const next = nextOf(from, offer.versions);
  const choice =
    next.length > 0 ? `choose ${next.join(' or ')}` : 'the installation offers no version to which it can go';
  const problem = (reason: string): Problem[] => [
    { field: FIELD, value: to, reason: `${reason}; ${choice}` },
  ];
  if (from === to) return problem('is the version that the cluster has');
  if (!isLater(from, to))
    return problem(`is older than ${from}, which the cluster has, and Kubernetes supports no downgrade`);
  return isNext(from, to) ? [] : problem(`skips a minor version after ${from}`);
}

/** Refuses two etcd members: while one restarts with the new version, the other has no quorum. */
function quorumProblems({ spec }: Situation): Problem[] {
  const members = [...clusterHostsOf(spec.cluster).values()].filter(hasEtcd);
  if (members.length !== 2) return [];
  const reason =
    'etcd has two members, so it stops while one of them restarts; add a third or remove one first';
  const field = members.every(isMaster) ? 'spec.cluster.masterList' : 'spec.cluster.etcdList';
  return [{ field, reason }];
}

/** Returns a step that upgrades members or control planes. A cancellation waits for the host in progress. */
const upgradeControlPlanes = (name: string, works: StepPlan['works']): StepPlan => ({
  name,
  works,
  installs: true,
  pace: 'one',
  cut: 'never',
});

/**
 * Upgrades Kubernetes: external etcd, control planes one by one with etcd's leader last, then workers in batches, each
 * drained before (kubernetes.io, Upgrading kubeadm clusters).
 */
export const update = {
  ...named('update'),
  summary: 'Upgrade Kubernetes',
  phase: 'Updating',
  ends: 'Running',
  request: editRequest({
    route: 'update',
    description: 'Takes the Kubernetes version to which the cluster is upgraded.',
    fields: {
      kubeVersion: versionSchema
        .optional()
        .meta({ description: 'A later patch, or the next minor version. Required without retry.' }),
      upgrade: upgradeSchema
        .optional()
        .meta({ description: 'How workers are upgraded; left out: as the cluster has it.' }),
      drain: drainField,
      retry: retryField,
    },
    example: { kubeVersion: 'v1.35.4' },
    edit: (_present, { kubeVersion, upgrade, drain, retry }) => ({
      change: {
        ...(kubeVersion === undefined ? {} : { kubeVersion }),
        ...(upgrade ? { upgrade } : {}),
        ...(drain ? { drain } : {}),
      },
      problems: kubeVersion === undefined && !retry ? [{ field: FIELD, reason: 'is required' }] : [],
    }),
  }),
  mayChange: ['version'],
  // kubeadm renews certificates at an upgrade.
  renewsKubeconfig: true,
  planning: {
    named: (_host, record) => (record && stateOf(record) === 'Joined' ? 'change' : undefined),
    unnamed: () => undefined,
    steps: [
      { name: 'Take hosts', works: () => true, pace: 'all', cut: 'between' },
      { name: 'Check the cluster', works: isControlPlane, pace: 'one', cut: 'between' },
      { name: 'Check etcd', works: hasData, pace: 'one', cut: 'between' },
      // One by one: images that are unpacked delay the disk, and a majority of etcd's members must not be slow.
      { name: PREPARE_UPGRADE, works: hasData, installs: true, pace: 'one', cut: 'between' },
      {
        name: 'Prepare workers',
        works: (host) => !hasData(host),
        installs: true,
        pace: 'all',
        cut: 'between',
      },
      { name: 'Save a snapshot of etcd', works: hasData, pace: 'one', cut: 'between' },
      upgradeControlPlanes('Upgrade etcd members', isExternalEtcd),
      upgradeControlPlanes(
        'Upgrade the leading etcd member',
        (host, all) => isExternalEtcd(host) && hasSeveral(all, isExternalEtcd),
      ),
      upgradeControlPlanes('Upgrade the first control plane', isControlPlane),
      upgradeControlPlanes(
        'Upgrade further control planes',
        (host, all) => isControlPlane(host) && hasSeveral(all, isControlPlane),
      ),
      upgradeControlPlanes(
        'Upgrade the leading control plane',
        (host, all) => isControlPlane(host) && hasSeveral(all, isControlPlane) && !all.some(isExternalEtcd),
      ),
      { name: 'Upgrade the pod network', works: isControlPlane, pace: 'one', cut: 'between' },
      {
        name: UPGRADE_WORKERS,
        works: isWorker,
        installs: true,
        pace: ({ cluster }) => ({ atMost: cluster.upgrade?.maxUnavailable ?? 1 }),
        cut: 'never',
      },
      { name: 'Fetch the kubeconfig', works: isControlPlane, pace: 'one', cut: 'between' },
      { name: 'Remove the former version', works: () => true, pace: 'all', cut: 'between' },
    ],
  },
  check: (situation) => [
    ...onlyChanges(['version'], situation),
    ...versionProblems(situation),
    ...quorumProblems(situation),
  ],
} satisfies Operation;
