import type { SshFailure } from '#ssh/ssh-error.ts';

/** Address and credentials of a host, which are never stored. */
export interface Place {
  /** Canonical address. */
  ip: string;
  port: number;
  user: string;
  privateKey?: string | undefined;
  password?: string | undefined;
  /** Lines of known_hosts. */
  knownHosts: string;
  /**
   * Line of the host key that the host showed before, for a host that is not in `knownHosts`. Without it, the first key is
   * trusted.
   */
  pinned?: string | undefined;
}

export interface Bridge {
  /** Name of the link on the host, at most 15 characters. */
  name: string;
  /** Uid of the bridge's object; the host stores it beside the bridge. */
  id: string;
  /** Network in canonical form: `10.9.0.0/24`. */
  cidr: string;
  /** Address of the bridge with the prefix: `10.9.0.1/24`. */
  address: string;
}

/** Bridge that Matryoshka created, in its present state. */
export interface Standing {
  name: string;
  /** Addresses with their prefixes; empty if the bridge is gone. */
  addresses: readonly string[];
  /** Whether link, mark, masquerading and forwarding are all as configured. */
  whole: boolean;
}

/** Present state of a host. */
export interface Seen {
  bridges: readonly Standing[];
  /** Addresses and routes that Matryoshka did not create: a link's name, and an address or CIDR. */
  foreign: readonly { link: string; to: string }[];
}

/** Exclusive session on one host. Other processes cannot write there until it ends; a later owner's session ends it. */
export interface Session {
  readonly seen: Seen;
  /** Creates the bridge, or changes the one of that name. Its ports stay. */
  put(bridge: Bridge): Promise<void>;
  /** Removes the bridge of that name if Matryoshka created it; does nothing if it does not exist. */
  remove(name: string): Promise<void>;
}

/** Host that was reached and is still unchanged. */
export interface Ground {
  /** Line of known_hosts with the key that the host showed. */
  readonly hostKeyLine: string;
  /** Takes the host for one session at a time. A session that leaves no bridge gives the host back. */
  session<T>(work: (session: Session) => Promise<T>): Promise<T>;
  close(): void;
}

/** Carries out Networks on hosts. Every call is bounded, may be repeated, and rejects with HostTrouble. */
export interface Provider {
  reach(place: Place): Promise<Ground>;
}

export type Trouble =
  | SshFailure
  /** Refusals of the fence: another owner has the host; a later process has it; a program there does not end. */
  | 'HostConflict'
  | 'StaleRun'
  | 'HostBusy'
  | 'ToolMissing'
  /** Another link on the host already uses an address of the bridge. */
  | 'AddressInUse'
  /** Another program already uses the name for a link or table. */
  | 'NameTaken'
  | 'HostFailed'
  /** This process is not the leader, so it must not take hosts. */
  | 'NotLeading';

/** Reason why a host is not as wanted, typed by the user's remediation. */
export class HostTrouble extends Error {
  override name = 'HostTrouble';
  readonly reason: Trouble;

  constructor(reason: Trouble, message: string) {
    super(message);
    this.reason = reason;
  }
}
