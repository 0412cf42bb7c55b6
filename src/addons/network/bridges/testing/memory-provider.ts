import { HostTrouble, type Provider, type Seen, type Standing, type Trouble } from '../provider.ts';
import { createTurns } from '../turns.ts';

/** Host that exists only in memory. */
export interface MemoryHost {
  readonly bridges: Map<string, Standing & { id: string; cidr: string }>;
  foreign: Seen['foreign'];
  hostKeyLine: string;
  /** Trouble that refuses a caller: when reaching the host, or when taking it. */
  away?: Trouble | undefined;
  refuses?: Trouble | undefined;
}

export interface MemoryProvider extends Provider {
  /** Returns the host of that address; creates it at first use. */
  host(ip: string): MemoryHost;
  /** Actions in order: `put 192.0.2.1 10.9.0.1/24`. */
  readonly done: string[];
}

/** Carries out Networks in memory, for tests of the provider's callers. */
export function memoryProvider(): MemoryProvider {
  const hosts = new Map<string, MemoryHost>();
  const turns = createTurns();
  const done: string[] = [];
  const host = (ip: string): MemoryHost => {
    const known = hosts.get(ip);
    if (known) return known;
    const fresh: MemoryHost = { bridges: new Map(), foreign: [], hostKeyLine: `${ip} ssh-ed25519 AAAA` };
    hosts.set(ip, fresh);
    return fresh;
  };
  return {
    host,
    done,
    async reach({ ip }) {
      const place = host(ip);
      if (place.away) throw new HostTrouble(place.away, `${ip} cannot be reached`);
      return {
        hostKeyLine: place.hostKeyLine,
        close() {},
        session: (work) =>
          turns.of(ip, async () => {
            if (place.refuses) throw new HostTrouble(place.refuses, `${ip}: refused`);
            return work({
              seen: {
                bridges: [...place.bridges.values()].map(({ name, addresses, whole }) => ({
                  ...{ name, addresses, whole },
                })),
                foreign: place.foreign,
              },
              async put({ name, id, cidr, address }) {
                done.push(`put ${ip} ${address}`);
                place.bridges.set(name, { name, addresses: [address], whole: true, id, cidr });
              },
              async remove(name) {
                done.push(`remove ${ip}`);
                place.bridges.delete(name);
              },
            });
          }),
      };
    },
  };
}
