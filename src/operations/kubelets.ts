import { isEtcdOnly, isMaster } from '#api/cluster-host.ts';
import type { PlannedHost } from '#protocol/run-spec.ts';
import type { StepPlan } from './plan-for.ts';

const hasKubelet = ({ action, member }: PlannedHost): boolean => action === 'change' && !isEtcdOnly(member);

/**
 * Steps that operations share: kubelets that the API server refuses get client certificates. A kubelet renews its own
 * certificate, unless it was off for too long or has lost it (kubernetes.io, Certificate Rotation).
 */
export const renewKubelets: readonly StepPlan[] = [
  { name: 'Find expired kubelets', works: hasKubelet, pace: 'all', cut: 'between' },
  {
    name: 'Issue certificates for kubelets',
    works: ({ member }) => isMaster(member),
    pace: 'one',
    cut: 'between',
  },
  { name: 'Renew kubelets', works: hasKubelet, pace: 'all', cut: 'between' },
];
