import { isMaster } from '#api/cluster-host.ts';
import { stateOf } from '#api/host-record.ts';
import type { PlannedHost } from '#protocol/run-spec.ts';
import { onlyChanges } from './changes.ts';
import { isExternalEtcd, issueCertificates } from './etcd.ts';
import { renewKubelets } from './kubelets.ts';
import { named, type Operation } from './operation.ts';
import { editRequest, retryField } from './request.ts';

const isControlPlane = ({ member: host }: PlannedHost): boolean => isMaster(host);

/**
 * Issues all certificates and kubeconfigs of control planes, external etcd members and the operator again, before or after
 * they expire. Kubelets renew their own certificates (kubernetes.io, Certificate Rotation); only an expired one is issued.
 */
export const renew = {
  ...named('renew'),
  summary: 'Renew certificates',
  phase: 'Maintaining',
  ends: 'Running',
  request: editRequest({
    route: 'renew',
    description: 'Renews all certificates and kubeconfigs, as condition CertificatesValid asks for.',
    fields: { retry: retryField },
    example: {},
    edit: () => ({ change: {}, problems: [] }),
  }),
  mayChange: [],
  renewsKubeconfig: true,
  planning: {
    named: (_host, record) => (record && stateOf(record) === 'Joined' ? 'change' : undefined),
    unnamed: () => undefined,
    mayBeAway: () => true,
    steps: [
      { name: 'Take hosts', works: () => true, pace: 'all', cut: 'between' },
      { name: 'Check authorities', works: isControlPlane, pace: 'all', cut: 'between' },
      { ...issueCertificates, works: (host, all) => isControlPlane(host) && all.some(isExternalEtcd) },
      { name: 'Renew etcd members', works: isExternalEtcd, pace: 'one', cut: 'never' },
      { name: 'Renew control planes', works: isControlPlane, pace: 'one', cut: 'never' },
      { name: 'Wait for API servers', works: isControlPlane, pace: 'all', cut: 'between' },
      ...renewKubelets,
      { name: 'Fetch the kubeconfig', works: isControlPlane, pace: 'one', cut: 'between' },
    ],
  },
  check: (situation) => onlyChanges([], situation),
} satisfies Operation;
