/** Every name that we share with clients, hosts and the rest of the cluster; spelled once. */
export const GROUP = 'ecs.yun.com';

export const annotations = {
  /** What is asked, then how it ended (docs/reference/requests.md). */
  operation: 'app.kubernetes.io/operation',
  /** The spec of the last operation that succeeded, for clients of the original; nothing of ours reads it. */
  appliedSpec: 'app.kubernetes.io/spec',
  requestId: `${GROUP}/request-id`,
  /** `All`: what is asked is planned and its hosts are looked at; nothing begins while it stands there. */
  dryRun: `${GROUP}/dry-run`,
  /** Hash of the plan that is agreed to: the request beside it begins only while the plan is that one. */
  plan: `${GROUP}/plan`,
  /** Id of the operation that shall stop; it names one operation and never stops another. */
  cancel: `${GROUP}/cancel`,
  /** Who cancelled; written as `requestedBy` is. */
  cancelledBy: `${GROUP}/cancelled-by`,
  /** Who changed `spec.paused` last; written as `requestedBy` is. */
  pausedBy: `${GROUP}/paused-by`,
  /** `<time> <user>` of a DELETE by REST, which alone writes it; see `deleterOf`. */
  deletedBy: `${GROUP}/deleted-by`,
  clusterId: `${GROUP}/cluster-id`,
  /** The operation that was applied last and its spec, as JSON, without credentials and without hosts. */
  applied: `${GROUP}/applied`,
  /** When the operator last replaced a control plane by itself (spec.policy). */
  remediedAt: `${GROUP}/remedied-at`,
  /** Who asked; written by the webhook, and by REST for its callers. For the record only. */
  requestedBy: `${GROUP}/requested-by`,
} as const;

export const labels = {
  clusterId: `${GROUP}/cluster-id`,
  sequence: `${GROUP}/sequence`,
  attempt: `${GROUP}/attempt`,
  /** The Job whose log a ConfigMap holds a part of. */
  job: `${GROUP}/job`,
  /** The namespace of the cluster whose log a ConfigMap heads; its logs have one budget. */
  clusterNamespace: `${GROUP}/cluster-namespace`,
  /** Marks an auxiliary Job; the value says which: `fetch`, `precheck`, `hook`. */
  auxiliary: `${GROUP}/errand`,
  /**
   * What an object of ours in the operator's namespaces is for: `attempt`, `host`, `anchor` (the cluster state Secret),
   * `tombstone`, `log`, `log-part`, `report`.
   */
  purpose: `${GROUP}/purpose`,
} as const;

/** Annotations on objects of ours in the operator's namespaces. */
export const marks = {
  /** `namespace/name` of the KubernetesCluster. */
  cluster: `${GROUP}/cluster`,
  /** The duties of a host, in one text: the table of hosts prints a list as JSON. */
  duties: `${GROUP}/duties`,
  /** The step that an attempt last reported. */
  step: `${GROUP}/step`,
  /** Where in an attempt's log a part of it begins, in bytes. */
  offset: `${GROUP}/offset`,
  /** The image that a Job was made with, whatever a policy has put in its place. */
  image: `${GROUP}/image`,
  /** That a part of a log is the last: the log is full, and the rest is dropped. */
  full: `${GROUP}/full`,
  /** Bytes that are kept of a log, on its head; written at each step and when it is packed. */
  bytes: `${GROUP}/bytes`,
  /** Where the packed parts of a log begin, in bytes, comma-separated; on its head. */
  packed: `${GROUP}/packed`,
  /** When somebody last followed a log, on its head. */
  followed: `${GROUP}/followed-at`,
} as const;

export const finalizerOf = (name: string): string => `kubernetescluster.${GROUP}/${name}`;
export const clusterStateName = (clusterId: string): string => `cluster-${clusterId}`;
export const kubeconfigSecretName = (name: string): string => `${name}-kubeconfig`;
export const knownHostsSecretName = (name: string): string => `${name}-known-hosts`;
export const credentialsSecretName = (name: string): string => `${name}-ssh`;
export const reportSecretName = (job: string): string => `report-${job}`;
export const attemptSecretName = (job: string): string => `attempt-${job}`;
/** ConfigMaps of an attempt's log: its head, its parts as they come, and what they are packed into at the end. */
export const logHeadName = (job: string): string => `log-${job}`;
export const logPartName = (job: string, part: number): string => `log-${job}-${part}`;
export const logPackName = (job: string, pack: number): string => `log-${job}-packed-${pack}`;
/** Secrets of the operator's namespace, of type kubernetes.io/tls: the authority, and the server's certificate. */
export const AUTHORITY_SECRET = 'matryoshka-ca';
export const SERVER_CERTIFICATE_SECRET = 'matryoshka-server-tls';
export const WEBHOOK_CERTIFICATE_SECRET = 'matryoshka-webhook-tls';
/** The audience of the token with which a Job reports; REST refuses it and the callback refuses all others. */
export const CALLBACK_AUDIENCE = 'matryoshka-callback';
