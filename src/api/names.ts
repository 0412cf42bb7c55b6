/** All names that are shared with clients, hosts and the meta cluster; each is defined once. */
export const GROUP = 'ecs.yun.com';

export const annotations = {
  /** The operation annotation: the request, later its result (docs/reference/requests.md). */
  operation: 'app.kubernetes.io/operation',
  /** The spec of the last operation that succeeded, for clients of kubernetes-operator; the operator never reads it. */
  appliedSpec: 'app.kubernetes.io/spec',
  requestId: `${GROUP}/request-id`,
  /** `All`: the request is planned and its hosts are checked; nothing begins while the annotation exists. */
  dryRun: `${GROUP}/dry-run`,
  /** The approved plan hash: the request beside it begins only while its plan has this hash. */
  plan: `${GROUP}/plan`,
  /** Id of the operation to stop; it never stops another one. */
  cancel: `${GROUP}/cancel`,
  /** The user who cancelled; written like `requestedBy`. */
  cancelledBy: `${GROUP}/cancelled-by`,
  /** The user who last changed `spec.paused`; written like `requestedBy`. */
  pausedBy: `${GROUP}/paused-by`,
  /** `<time> <user>` of a DELETE over REST; only the REST server writes it, see `deleterOf`. */
  deletedBy: `${GROUP}/deleted-by`,
  clusterId: `${GROUP}/cluster-id`,
  /** The operation that was applied last and its spec, as JSON, without credentials and hosts. */
  applied: `${GROUP}/applied`,
  /** When the operator last replaced a control plane by itself (spec.policy). */
  remediedAt: `${GROUP}/remedied-at`,
  /** When the operator last requested a renewal by itself (spec.policy). */
  renewedAt: `${GROUP}/renewed-at`,
  /** When the operator last requested a snapshot by itself (spec.etcdSnapshots). */
  snapshotAskedAt: `${GROUP}/snapshot-asked-at`,
  /** The snapshot that `restoring` restores. */
  snapshot: `${GROUP}/snapshot`,
  /** The time of that snapshot, or an earlier one: a restore loses what was written since. */
  confirmDataLossSince: `${GROUP}/confirm-data-loss-since`,
  /** The user who requested the operation; written by the webhook, and by REST for its callers. For the record only. */
  requestedBy: `${GROUP}/requested-by`,
} as const;

export const labels = {
  clusterId: `${GROUP}/cluster-id`,
  sequence: `${GROUP}/sequence`,
  attempt: `${GROUP}/attempt`,
  /** The Job whose log a ConfigMap has a part of. */
  job: `${GROUP}/job`,
  /** The namespace of the cluster whose log has this head; all its logs share one budget. */
  clusterNamespace: `${GROUP}/cluster-namespace`,
  /** Marks an auxiliary Job; the value is its kind: `fetch`, `precheck`, `hook`. */
  auxiliary: `${GROUP}/errand`,
  /**
   * The purpose of an object in the operator's namespaces: `attempt`, `host`, `anchor` (the cluster state Secret),
   * `tombstone`, `log`, `log-part`, `report`.
   */
  purpose: `${GROUP}/purpose`,
} as const;

/** Annotations on objects in the operator's namespaces. */
export const internalAnnotations = {
  /** `namespace/name` of the KubernetesCluster. */
  cluster: `${GROUP}/cluster`,
  /** The duties of a host as one text: `kubectl get` would print a list as JSON. */
  duties: `${GROUP}/duties`,
  /** The step that an attempt last reported. */
  step: `${GROUP}/step`,
  /** Offset of a part in an attempt's log, in bytes. */
  offset: `${GROUP}/offset`,
  /** The image that a Job was created with, before any policy replaced it. */
  image: `${GROUP}/image`,
  /** Marks the last part of a full log: the rest is dropped. */
  full: `${GROUP}/full`,
  /** Stored bytes of a log, on its head; written at each step and when the log is packed. */
  bytes: `${GROUP}/bytes`,
  /** Offsets of the packs of a log, in bytes, comma-separated; on its head. */
  packed: `${GROUP}/packed`,
  /** When a client last followed a log, on its head. */
  followed: `${GROUP}/followed-at`,
} as const;

export const finalizerOf = (name: string): string => `kubernetescluster.${GROUP}/${name}`;
export const clusterStateName = (clusterId: string): string => `cluster-${clusterId}`;
export const kubeconfigSecretName = (name: string): string => `${name}-kubeconfig`;
export const knownHostsSecretName = (name: string): string => `${name}-known-hosts`;
export const credentialsSecretName = (name: string): string => `${name}-ssh`;
export const snapshotsSecretName = (name: string): string => `${name}-snapshots`;
export const reportSecretName = (job: string): string => `report-${job}`;
export const attemptSecretName = (job: string): string => `attempt-${job}`;
/** ConfigMaps of an attempt's log: its head, its parts as they come, and the packs that replace the parts at the end. */
export const logHeadName = (job: string): string => `log-${job}`;
export const logPartName = (job: string, part: number): string => `log-${job}-${part}`;
export const logPackName = (job: string, pack: number): string => `log-${job}-packed-${pack}`;
/** Secrets of the operator's namespace, of type kubernetes.io/tls: the authority, and the server's certificate. */
export const AUTHORITY_SECRET = 'matryoshka-ca';
export const SERVER_CERTIFICATE_SECRET = 'matryoshka-server-tls';
export const WEBHOOK_CERTIFICATE_SECRET = 'matryoshka-webhook-tls';
/** The audience of the token with which a Job reports; other routes refuse it, and the callback refuses all others. */
export const CALLBACK_AUDIENCE = 'matryoshka-callback';
