/** What one probe of a cluster saw; what could not be asked is absent. */
export interface Seen {
  /** Why nothing at all could be asked; without it, a control plane was. */
  blind?: Blind;
  /** One for each control plane that the records name. */
  servers: readonly ServerSeen[];
  /** As an API server that is ready tells them. */
  nodes?: readonly NodeSeen[] | undefined;
  /** Members of etcd that run as pods, by the same. */
  etcdPods?: readonly EtcdPodSeen[] | undefined;
  /** Why etcd took no write that was tried; tried only where no kubelet is heard of. */
  writesRefused?: WritesRefused | undefined;
  /** How much etcd keeps on disk; asked seldom. */
  databaseBytes?: number | undefined;
  /** An operation is under way, which may move members of etcd. */
  changing?: boolean;
  /** When the kubeconfig's own certificate ends. */
  clientCertificateEnds?: Date | undefined;
}

export interface Blind {
  reason: 'KubeconfigMissing' | 'KubeconfigUnusable' | 'NamespaceNotServed' | 'NoControlPlane';
  message: string;
}

/** How one API server answered at its own address. */
export interface ServerSeen {
  ip: string;
  state: ServerState;
  /** Checks of /readyz that failed, by their names. */
  failed?: readonly string[];
  /** When the certificate that it showed ends. */
  certificateEnds?: Date | undefined;
}

export type ServerState =
  | 'ready'
  | 'not-ready'
  /** No connection, no answer in time, or none of an API server. */
  | 'silent'
  /** Its certificate is not of the kubeconfig's authority, or of another address. */
  | 'untrusted'
  /** Its certificate has ended. */
  | 'expired'
  /** It answers, and not to these credentials. */
  | 'refusing';

export interface NodeSeen {
  name: string;
  /** Ready, and its kubelet has been heard of lately. */
  ready: boolean;
  /** The cluster still calls it Ready, and its kubelet is not heard of any more. */
  silent?: boolean;
  /** What its host lately told of what was made there; undefined: nothing. */
  drift?: DriftSeen | undefined;
  /** What its host, a control plane, lately passed on of hosts of etcd alone, by their names; undefined: nothing. */
  driftOfEtcd?: ReadonlyMap<string, DriftSeen> | undefined;
  /** What its host, a control plane, lately told of members of etcd, on hosts of their own or beside it; undefined: nothing. */
  etcd?: readonly MemberSeen[] | undefined;
}

/** Alarms of etcd: its quota is used up; its members differ (etcd.io, Maintenance). */
export type WritesRefused = 'NoSpace' | 'Corrupt';

/** How a member of etcd answers a control plane. */
export interface MemberSeen {
  ip: string;
  healthy: boolean;
  /** How it does not, in words. */
  says: string;
  /** It says of itself that it leads. */
  leads?: boolean;
}

/** How a host differs from what was made on it. */
export interface DriftSeen {
  /** When it told that, by its own clock: of two words of one host the later one holds. */
  atMs: number;
  /** How many things differ. */
  count: number;
  /** Some of them, in words. */
  things: readonly string[];
}

export interface EtcdPodSeen {
  node: string;
  ready: boolean;
}

/** A host as far as health is concerned. */
export interface Expected {
  ip: string;
  /** Its node name. */
  name: string;
  controlPlane: boolean;
  etcd: boolean;
  /** It runs a kubelet; one that has etcd alone does not. */
  hasNode: boolean;
  /** It has joined; one that is only held, or that leaves, is the operation's to tell of. */
  joined: boolean;
  leaving: boolean;
}
