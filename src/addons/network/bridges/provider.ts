import type { SshFailure } from '#ssh/ssh-error.ts';

/** How to reach a host, and with what; nothing of it is kept. */
export interface Place {
  /** Canonical address. */
  ip: string;
  port: number;
  user: string;
  privateKey?: string | undefined;
  password?: string | undefined;
  /** Lines of known_hosts. */
  knownHosts: string;
  /** The line of the key that the host showed before, for a host that is not in `knownHosts`; else first sight decides. */
  pinned?: string | undefined;
}

export interface Bridge {
  /** Of the link on the host, at most 15 characters. */
  name: string;
  /** Uid of what it is for; the host keeps it beside the bridge. */
  id: string;
  /** Network in canonical spelling: `10.9.0.0/24`. */
  cidr: string;
  /** The bridge's own address with the prefix: `10.9.0.1/24`. */
  address: string;
}

/** A bridge that was made here, as it is now. */
export interface Standing {
  name: string;
  /** With their prefixes; none where the bridge is gone. */
  addresses: readonly string[];
  /** Up, marked, translated and forwarded, all as it was made. */
  whole: boolean;
}

/** What a host has. */
export interface Seen {
  bridges: readonly Standing[];
  /** Addresses and routes that are none of ours: a link's name, and an address or CIDR. */
  foreign: readonly { link: string; to: string }[];
}

/** One host, taken for this session: until it ends nobody else writes there, and whoever takes it later ends it. */
export interface Session {
  readonly seen: Seen;
  /** Makes the bridge, or changes the one of that name into this. Its ports stay. */
  put(bridge: Bridge): Promise<void>;
  /** Removes the bridge of that name if it was made here; there need be none. */
  remove(name: string): Promise<void>;
}

/** A host that was reached; nothing of it is changed yet. */
export interface Ground {
  /** The line of known_hosts with the key that the host showed. */
  readonly hostKeyLine: string;
  /** Takes the host, one session after the other; one in which no bridge is left gives it back. */
  session<T>(work: (session: Session) => Promise<T>): Promise<T>;
  close(): void;
}

/** Where Networks are real. Every call is bounded, may be repeated, and rejects with HostTrouble. */
export interface Provider {
  reach(place: Place): Promise<Ground>;
}

export type Trouble =
  | SshFailure
  /** The fence: the host is another's; a later process has it; something there does not end. */
  | 'HostConflict'
  | 'StaleRun'
  | 'HostBusy'
  | 'ToolMissing'
  /** Addresses of the bridge are somebody's on the host. */
  | 'AddressInUse'
  /** A link or table of the wanted name is somebody's. */
  | 'NameTaken'
  | 'HostFailed'
  /** This process may not take hosts now. */
  | 'NotLeading';

/** Why a host is not as it should be, typed by what a person should do about it. */
export class HostTrouble extends Error {
  override name = 'HostTrouble';
  readonly reason: Trouble;

  constructor(reason: Trouble, message: string) {
    super(message);
    this.reason = reason;
  }
}
