import { tokenOf } from '#access/testing/accounts.ts';
import { JOBS, PODS, type Pod } from '#api/core.ts';
import type { KubeObject } from '#api/meta.ts';
import { CALLBACK_AUDIENCE, internalAnnotations, labels } from '#api/names.ts';
import { eventually } from '#base/testing/eventually.ts';
import type { Client } from '#runtime/client/client.ts';

/** A Job as the controller creates it, and its pod. */
export interface Attempt {
  job: string;
  pod: Pod;
  /** Returns a token as the pod gets it, or one with another audience. */
  token(audience?: string): Promise<string>;
}

/** Creates the Job of an attempt of a cluster (`namespace/name`), and waits for its pod. */
export async function makeAttempt(
  admin: Client,
  namespace: string,
  { job, cluster, sequence }: { job: string; cluster: string; sequence: number },
): Promise<Attempt> {
  const marked = {
    labels: {
      [labels.purpose]: 'attempt',
      [labels.clusterId]: 'c1',
      [labels.sequence]: String(sequence),
      [labels.attempt]: '1',
    },
    annotations: { [internalAnnotations.cluster]: cluster },
  };
  const object: KubeObject & { spec: unknown } = {
    metadata: { namespace, name: job, ...marked },
    spec: {
      backoffLimit: 0,
      podReplacementPolicy: 'Failed',
      template: {
        metadata: marked,
        spec: {
          restartPolicy: 'Never',
          serviceAccountName: 'runner',
          automountServiceAccountToken: false,
          containers: [{ name: 'ansibleinit', image: 'runner' }],
        },
      },
    },
  };
  await admin.create(JOBS, object);
  const pod = await eventually(async () => {
    const labelSelector = `batch.kubernetes.io/job-name=${job}`;
    return (await admin.list<Pod>(PODS, { namespace, labelSelector })).items[0];
  });
  const { name = '', uid = '' } = pod.metadata;
  return {
    job,
    pod,
    token: (audience = CALLBACK_AUDIENCE) =>
      tokenOf(
        admin,
        { namespace, name: 'runner' },
        { audiences: [audience], boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid } },
      ),
  };
}
