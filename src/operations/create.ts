import { isMaster } from '#api/member.ts';
import type { PlannedHost } from '#protocol/order.ts';
import { isApart, issueCertificates } from './etcd.ts';
import { named, type Operation } from './operation.ts';

const joins = ({ action }: PlannedHost): boolean => action === 'join';
const masterJoins = (host: PlannedHost): boolean => joins(host) && isMaster(host.member);
/** A member of etcd that the first control plane waits for, on another host. */
const startsApart = (host: PlannedHost): boolean => joins(host) && isApart(host);

/** Makes the cluster of `spec` out of hosts; hosts that a former, failed try took and the spec dropped are reset. */
export const create: Operation = {
  ...named('create'),
  summary: 'Make a cluster',
  phase: 'Creating',
  ends: 'Running',
  mayChange: [],
  planning: {
    named: () => 'join',
    unnamed: () => 'leave',
    steps: [
      { name: 'Take hosts', works: () => true, pace: 'all', cut: 'between' },
      { name: 'Reset hosts', works: ({ action }) => action === 'leave', pace: 'all', cut: 'never' },
      { name: 'Prepare hosts, start the control plane', works: joins, pace: 'all', cut: 'between' },
      { ...issueCertificates, works: (host, all) => masterJoins(host) && all.some(startsApart) },
      { name: 'Start etcd', works: startsApart, pace: 'all', cut: 'between' },
      {
        name: 'Start the control plane',
        works: (host, all) => masterJoins(host) && all.some(startsApart),
        pace: 'one',
        cut: 'between',
      },
      { name: 'Admit hosts', works: masterJoins, pace: 'one', cut: 'between' },
      { name: 'Join hosts, start the pod network', works: joins, pace: 'all', cut: 'between' },
      { name: 'Await the cluster', works: masterJoins, pace: 'one', cut: 'between' },
      { name: 'Fetch the kubeconfig', works: masterJoins, pace: 'one', cut: 'between' },
    ],
  },
  check: () => [],
};
