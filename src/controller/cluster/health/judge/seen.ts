/** The findings of one probe of a cluster; a finding that could not be obtained is absent. */
export interface Seen {
  /** Why nothing could be probed; if absent, a control plane was probed. */
  blind?: Blind;
  /** An entry for each control plane on record. */
  servers: readonly ServerSeen[];
  /** As reported by a ready API server. */
  nodes?: readonly NodeSeen[] | undefined;
  /** Etcd members that run as pods, as reported by a ready API server. */
  etcdPods?: readonly EtcdPodSeen[] | undefined;
  /** Why etcd refused a test write; tried only if no kubelet renews its lease. */
  writesRefused?: WritesRefused | undefined;
  /** Size of etcd's database on disk in bytes; requested rarely. */
  databaseBytes?: number | undefined;
  /** Whether an operation is under way, which may move etcd members. */
  changing?: boolean;
  /** When the kubeconfig's client certificate expires. */
  clientCertificateEnds?: Date | undefined;
}

export interface Blind {
  reason: 'KubeconfigMissing' | 'KubeconfigUnusable' | 'NamespaceNotServed' | 'NoControlPlane';
  message: string;
}

/** The answer of one API server at its own address. */
export interface ServerSeen {
  ip: string;
  state: ServerState;
  /** Names of the `/readyz` checks that failed. */
  failed?: readonly string[];
  /** When the server's certificate expires. */
  certificateEnds?: Date | undefined;
}

export type ServerState =
  | 'ready'
  | 'not-ready'
  /** No connection, no answer in time, or an answer that is not from an API server. */
  | 'silent'
  /** The kubeconfig's authority did not sign the certificate, or it is for another address. */
  | 'untrusted'
  /** The certificate has expired. */
  | 'expired'
  /** The server answers, but refuses these credentials. */
  | 'refusing';

export interface NodeSeen {
  name: string;
  /** Ready, and the kubelet has renewed its lease recently. */
  ready: boolean;
  /** The node still counts as Ready, but its kubelet no longer renews its lease. */
  silent?: boolean;
  /** The host's recent drift report; undefined if there is none. */
  drift?: DriftSeen | undefined;
  /** Recent reports of external etcd hosts that this control plane passed on, by node name; undefined if there are none. */
  driftOfEtcd?: ReadonlyMap<string, DriftSeen> | undefined;
  /** This control plane's recent report about etcd members, external or stacked; undefined if there is none. */
  etcd?: readonly MemberSeen[] | undefined;
}

/** Alarms of etcd: its quota is used up, or its members differ (etcd.io, Maintenance). */
export type WritesRefused = 'NoSpace' | 'Corrupt';

/** The answer of an etcd member to a control plane. */
export interface MemberSeen {
  ip: string;
  healthy: boolean;
  /** Description of the failure; 'healthy' if there is none. */
  says: string;
  /** Whether the member claims to be the leader. */
  isLeader?: boolean;
}

/** The differences of a host from its baseline. */
export interface DriftSeen {
  /** The time of the report, by the host's own clock; of two reports of a host the later one counts. */
  atMs: number;
  /** Number of differences. */
  count: number;
  /** Descriptions of some differences. */
  things: readonly string[];
  /** The certificate on the host that ends first, of those that a renewal issues. */
  certificate?: { ends: Date; file: string };
  /** The authority on the host that ends first. */
  authority?: { ends: Date; file: string };
}

export interface EtcdPodSeen {
  node: string;
  ready: boolean;
}

/** A host as the health checks need it. */
export interface Expected {
  ip: string;
  /** The node name. */
  name: string;
  controlPlane: boolean;
  etcd: boolean;
  /** Whether the host runs a kubelet; an external etcd host does not. */
  hasNode: boolean;
  /** Whether the host has joined. The operation reports a host that is only held, or that leaves. */
  joined: boolean;
  leaving: boolean;
}
