import { networkSchema } from '#api/cluster-addons.ts';
import { isEtcdOnly, isMaster } from '#api/cluster-host.ts';
import { stateOf } from '#api/host-record.ts';
import { kubeadmSchema } from '#api/kubeadm.ts';
import type { PlannedHost } from '#protocol/run-spec.ts';
import { onlyChanges } from './changes.ts';
import { named, type Operation } from './operation.ts';
import { editRequest, retryField } from './request.ts';

const FIELD = 'spec.cluster.kubeadm';
const isControlPlane = ({ member: host }: PlannedHost): boolean => isMaster(host);
const isOther = ({ member: host }: PlannedHost): boolean => !isMaster(host) || isEtcdOnly(host);

/**
 * Changes `spec.cluster.kubeadm` of a cluster that exists: control planes one by one, then the other hosts in batches
 * (kubernetes.io, Reconfiguring a kubeadm cluster). Then it changes whether the pod network enforces NetworkPolicies.
 */
export const reconfigure = {
  ...named('reconfigure'),
  summary: 'Change settings of components',
  phase: 'Updating',
  ends: 'Running',
  request: editRequest({
    route: 'reconfigure',
    description:
      'Takes all settings that the cluster shall have; what is left out is set back to its default.',
    fields: {
      kubeadm: kubeadmSchema.optional().meta({
        description: 'The whole of spec.cluster.kubeadm. Without retry, this or network is required.',
      }),
      network: networkSchema.optional(),
      retry: retryField,
    },
    names: { 'spec.addons.network': 'network' },
    example: { kubeadm: { kubelet: { maxPods: 200 } } },
    edit: (_present, { kubeadm, network, retry }) => ({
      change: kubeadm === undefined ? {} : { kubeadm },
      ...(network === undefined ? {} : { addons: { network } }),
      problems:
        kubeadm === undefined && network === undefined && !retry
          ? [{ field: FIELD, reason: 'is required, unless network is given' }]
          : [],
    }),
  }),
  mayChange: ['settings'],
  needsKubeconfig: true,
  brings: [],
  planning: {
    named: (_host, record) => (record && stateOf(record) === 'Joined' ? 'change' : undefined),
    unnamed: () => undefined,
    steps: [
      { name: 'Take hosts', works: () => true, pace: 'all', cut: 'between' },
      { name: 'Check control planes', works: isControlPlane, pace: 'all', cut: 'between' },
      { name: 'Change control planes', works: isControlPlane, installs: true, pace: 'one', cut: 'never' },
      {
        name: 'Change other hosts',
        works: isOther,
        installs: true,
        pace: ({ cluster }) => ({ atMost: cluster.upgrade?.maxUnavailable ?? 1 }),
        cut: 'never',
      },
      {
        name: 'Change the pod network',
        works: (host, _all, { addons }) => isControlPlane(host) && addons?.network !== 'none',
        pace: 'one',
        cut: 'between',
      },
      {
        name: 'Remove unused packet rules',
        works: ({ member: host }, _all, { addons }) =>
          !isEtcdOnly(host) && addons?.network !== 'flannel-policies',
        pace: 'all',
        cut: 'between',
      },
    ],
  },
  check: (situation) => onlyChanges(['settings'], situation),
} satisfies Operation;
