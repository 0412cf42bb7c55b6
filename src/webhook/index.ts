import type { Admission, Mutation } from './admission.ts';
import { kubernetesClusterAdmission } from './admit/kubernetes-cluster.ts';
import { kubernetesClusterMutation } from './mutate/kubernetes-cluster.ts';

/** Every kind that is judged, by the path that it is judged under. */
export const admissions: Readonly<Record<string, Admission>> = {
  kubernetesclusters: kubernetesClusterAdmission,
};

/** Every kind that is completed before it is judged. */
export const mutations: Readonly<Record<string, Mutation>> = {
  kubernetesclusters: kubernetesClusterMutation,
};
