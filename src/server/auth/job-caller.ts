import { fingerprintOf } from '#access/access.ts';
import type { Reviews } from '#access/reviews.ts';
import { operationIdOf } from '#api/cluster-facts.ts';
import { JOBS, type Job, PODS, type Pod } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { ObjectKey } from '#api/meta.ts';
import { CALLBACK_AUDIENCE, internalAnnotations, labels } from '#api/names.ts';
import type { Clock } from '#base/clock.ts';
import { ttlCache } from '#base/ttl-cache.ts';
import type { Client } from '#runtime/client/client.ts';
import { forbidden, unauthorized } from '../http/errors.ts';
import { bearerOf } from './auth.ts';

/** The attempt that a calling pod belongs to. */
export interface JobCaller {
  /** Name of the Job. */
  job: string;
  clusterId: string;
  sequence: number;
  attempt: number;
  /** Whether the run is an auxiliary Job, whose attempts are counted separately from the operation's. */
  isAuxiliary: boolean;
  cluster: ObjectKey;
  /** Whether the end of the Job was seen; afterwards the server accepts nothing from it. */
  ended: boolean;
}

/** Determines which attempt calls. */
export interface JobCallers {
  /** Throws HttpError 401 if the token is not for callbacks, 403 if the pod does not belong to an attempt. */
  callerOf(authorization: string | undefined): Promise<JobCaller>;
  /** Returns the caller, at most a few seconds old: for the frequent small calls that only append. */
  recentCallerOf(authorization: string | undefined): Promise<JobCaller>;
  /** Whether a later attempt or a later operation has replaced this one. */
  isSuperseded(caller: JobCaller): Promise<boolean>;
  /** Whether the operation of this attempt was cancelled; at most a second old. */
  isCancelled(caller: JobCaller): Promise<boolean>;
}

const REMEMBER_MS = 5_000;
const CANCELLED_MS = 1_000;
const POD_NAME = 'authentication.kubernetes.io/pod-name';
const POD_UID = 'authentication.kubernetes.io/pod-uid';

const hasEnded = ({ status }: Job): boolean =>
  status?.conditions?.some(
    ({ type, status: is }) => (type === 'Complete' || type === 'Failed') && is === 'True',
  ) ?? false;

export interface JobCallersDeps {
  client: Client;
  clock: Clock;
  reviews: Reviews;
  /** The operator's namespace. */
  namespace: string;
  runnerServiceAccount: string;
}

/** Resolves token → pod → Job. Each link is checked by uid, so that a reused name proves nothing. */
export function jobCallersBy({
  client,
  clock,
  reviews,
  namespace,
  runnerServiceAccount,
}: JobCallersDeps): JobCallers {
  const runner = `system:serviceaccount:${namespace}:${runnerServiceAccount}`;
  const known = ttlCache<JobCaller>({ clock, forMs: REMEMBER_MS, size: 1000 });
  const cancelled = ttlCache<boolean>({ clock, forMs: CANCELLED_MS, size: 1000 });
  const nobody = forbidden('the token does not belong to the pod of a running attempt');

  async function jobOf(podName: string, podUid: string): Promise<Job | undefined> {
    const pod = await client.find<Pod>(PODS, { namespace, name: podName });
    if (pod?.metadata.uid !== podUid) return undefined;
    const owner = pod.metadata.ownerReferences?.find(({ kind, controller }) => kind === 'Job' && controller);
    if (!owner) return undefined;
    const job = await client.find<Job>(JOBS, { namespace, name: owner.name });
    return job?.metadata.uid === owner.uid ? job : undefined;
  }

  async function callerOf(token: string): Promise<JobCaller> {
    const user = await reviews.userOf(token, [CALLBACK_AUDIENCE]);
    if (!user) throw unauthorized('the token is not valid for a report');
    const [podName] = user.extra[POD_NAME] ?? [];
    const [podUid] = user.extra[POD_UID] ?? [];
    if (user.username !== runner || podName === undefined || podUid === undefined) throw nobody;
    const job = await jobOf(podName, podUid);
    const marked = job?.metadata.labels ?? {};
    const [of, name] = job?.metadata.annotations?.[internalAnnotations.cluster]?.split('/') ?? [];
    const clusterId = marked[labels.clusterId];
    if (!job || marked[labels.purpose] !== 'attempt' || !of || !name || !clusterId) throw nobody;
    return {
      job: job.metadata.name ?? '',
      clusterId,
      sequence: Number(marked[labels.sequence] ?? 0),
      attempt: Number(marked[labels.attempt] ?? 0),
      isAuxiliary: marked[labels.auxiliary] !== undefined,
      cluster: { namespace: of, name },
      ended: hasEnded(job),
    };
  }

  const operationOf = async (cluster: ObjectKey) =>
    (await client.find<KubernetesCluster>(KUBERNETES_CLUSTERS, cluster))?.status?.operation;

  return {
    callerOf: async (authorization) => callerOf(bearerOf(authorization)),
    recentCallerOf: async (authorization) => {
      const token = bearerOf(authorization);
      return known.get(fingerprintOf(token), () => callerOf(token));
    },
    async isSuperseded({ cluster, sequence, attempt, isAuxiliary }) {
      const now = await operationOf(cluster);
      if (!now) return false;
      return now.sequence > sequence || (!isAuxiliary && now.sequence === sequence && now.attempt > attempt);
    },
    isCancelled: ({ job, cluster, clusterId, sequence, isAuxiliary }) =>
      cancelled.get(job, async () => {
        const now = isAuxiliary ? undefined : await operationOf(cluster);
        return now?.id === operationIdOf(clusterId, sequence) && now.cancelledAt !== undefined;
      }),
  };
}
