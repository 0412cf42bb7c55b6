/** The admission webhook: it completes and validates KubernetesClusters. It writes nothing itself. */

import type { Admission, Mutation } from './admission.ts';
import { kubernetesClusterAdmission } from './admit/kubernetes-cluster.ts';
import { kubernetesClusterMutation } from './mutate/kubernetes-cluster.ts';

/** Validated kinds, by the last part of the path. */
export const admissions: Readonly<Record<string, Admission>> = {
  kubernetesclusters: kubernetesClusterAdmission,
};

/** Kinds that are completed before their validation. */
export const mutations: Readonly<Record<string, Mutation>> = {
  kubernetesclusters: kubernetesClusterMutation,
};
