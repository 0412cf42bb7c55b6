import { hasEtcd, isEtcdOnly, isMaster } from '#api/cluster-host.ts';
import { stateOf } from '#api/host-record.ts';
import type { PlannedHost } from '#protocol/run-spec.ts';
import { onlyChanges } from './changes.ts';
import { pointHosts } from './control-planes.ts';
import { isExternalEtcd } from './etcd.ts';
import { renewKubelets } from './kubelets.ts';
import { named, type Operation } from './operation.ts';
import type { StepPlan } from './plan-for.ts';
import { editRequest, retryField } from './request.ts';

const isPutBack = ({ action }: PlannedHost): boolean => action === 'change';
const hasMember = (host: PlannedHost): boolean => isPutBack(host) && hasEtcd(host.member);
const hasNode = (host: PlannedHost): boolean => isPutBack(host) && !isEtcdOnly(host.member);
const isWorker = (host: PlannedHost): boolean => hasNode(host) && !isMaster(host.member);
const onControlPlanes = ({ member: host }: PlannedHost): boolean => isMaster(host);
/** While an API server or etcd member restarts, the others must run: one at a time, and never interrupted. */
const CAREFULLY = { installs: true, pace: 'one', cut: 'never' } as const;
const CONTROL_PLANES = {
  ...CAREFULLY,
  works: onControlPlanes,
} satisfies Omit<StepPlan, 'name'>;
const MEMBERS = {
  ...CAREFULLY,
  works: (host) => isPutBack(host) && isExternalEtcd(host),
} satisfies Omit<StepPlan, 'name'>;

/**
 * Restores everything on hosts that differs from the baseline (ansible/README.md). Works on all hosts, since a host that
 * matches its baseline is done at once.
 */
export const repair = {
  ...named('repair'),
  summary: 'Put back what was changed on hosts by hand',
  phase: 'Maintaining',
  ends: 'Running',
  request: editRequest({
    route: 'repair',
    description: 'Restores every host that drifted, as condition HostsAsMade reports.',
    fields: { retry: retryField },
    example: {},
    edit: () => ({ change: {}, problems: [] }),
  }),
  mayChange: [],
  planning: {
    named: (_host, record) => (record && stateOf(record) === 'Joined' ? 'change' : undefined),
    unnamed: () => undefined,
    mayBeAway: () => true,
    steps: [
      { name: 'Take hosts', works: () => true, pace: 'all', cut: 'between' },
      { name: 'Check the version', works: onControlPlanes, pace: 'all', cut: 'between' },
      {
        name: 'Read keys that control planes have lost',
        works: onControlPlanes,
        pace: 'all',
        cut: 'between',
      },
      { name: 'Bring back lost keys', works: onControlPlanes, pace: 'all', cut: 'between' },
      { name: 'Find etcd members without data', works: hasMember, pace: 'all', cut: 'between' },
      // API servers need these first.
      { ...MEMBERS, name: 'Restore etcd members that do not run' },
      { ...MEMBERS, name: 'Restore etcd members' },
      { ...CAREFULLY, name: 'Replace etcd members without data', works: hasMember },
      { ...CONTROL_PLANES, name: 'Restore control planes that do not answer' },
      { ...CONTROL_PLANES, name: 'Restore control planes' },
      { name: 'Restore workers', works: isWorker, installs: true, pace: { atMost: 10 }, cut: 'between' },
      // A host that was away while control planes changed still lacks their endpoints.
      { ...pointHosts, works: hasNode },
      ...renewKubelets,
      {
        name: 'Find missing nodes',
        works: onControlPlanes,
        pace: 'one',
        cut: 'between',
      },
      { name: 'Register missing nodes', works: hasNode, pace: 'all', cut: 'between' },
      {
        name: 'Wait for missing nodes',
        works: onControlPlanes,
        pace: 'one',
        cut: 'between',
      },
      { name: 'Compare hosts', works: isPutBack, pace: 'all', cut: 'between' },
    ],
  },
  check: (situation) => onlyChanges([], situation),
} satisfies Operation;
