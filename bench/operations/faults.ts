import { docker } from '#lab/hosts/docker.ts';

/** A fault of a host, with its begin and its end. */
export interface Fault {
  readonly name: string;
  begin(host: string): Promise<unknown>;
  end(host: string): Promise<unknown>;
}

const RULES =
  'add table inet cut; add chain inet cut in { type filter hook input priority -300; policy drop; }';

export const faults: readonly Fault[] = [
  {
    name: 'killed',
    begin: (host) => docker(['kill', '--signal=KILL', host]),
    end: (host) => docker(['start', host]),
  },
  {
    name: 'frozen',
    begin: (host) => docker(['pause', host]),
    end: (host) => docker(['unpause', host]),
  },
  {
    // Packets are dropped without a response.
    name: 'cut off',
    begin: (host) => docker(['exec', host, 'nft', RULES]),
    end: (host) => docker(['exec', host, 'nft', 'delete table inet cut']),
  },
];
