import type { Admission } from './admission.ts';
import { kubernetesClusterAdmission } from './admit/kubernetes-cluster.ts';

/** Every kind that is judged, by the path that it is judged under. */
export const admissions: Readonly<Record<string, Admission>> = {
  kubernetesclusters: kubernetesClusterAdmission,
};
