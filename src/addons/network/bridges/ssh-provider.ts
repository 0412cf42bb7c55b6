import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '#base/clock.ts';
import { connect, type SshConnection } from '#ssh/connection.ts';
import { pinsOf } from '#ssh/known-hosts.ts';
import { quoted } from '#ssh/quoted.ts';
import { SshError } from '#ssh/ssh-error.ts';
import { seenIn, troubleOf } from './host-messages.ts';
import { HostTrouble, type Place, type Provider, type Session } from './provider.ts';
import { createTurns } from './turns.ts';

/** Run of the fence: the owner of the hosts, its beginning, and this process. */
export interface Holder {
  /** Id of the installation; a host has one owner. */
  owner: string;
  /** Order of processes: by `since`, then by `term`. */
  since: number;
  term: number;
}

export interface SshProviderOptions {
  clock: Clock;
  /** Returns the holder before each session. Rejects with HostTrouble if this process must not take hosts. */
  holder(): Promise<Holder>;
  /** Unique name of this process: letters, digits, `-`. */
  process: string;
}

const CONNECT_MS = 10_000;
/** Limit of a command. The fence's `take` need not wait for these commands, because none is protected. */
const COMMAND_MS = 30_000;
/** Pause before any caller connects again to a host that did not answer. */
const AWAY_MS = 15_000;
/** Pause after a refused password: three refusals within a quarter of an hour lock a user out (pam_faillock's defaults). */
const REFUSED_MS = 600_000;
/** Refusals that depend on a password. */
const JUDGED = /^AuthenticationFailed|^SudoRefused: .*(incorrect password|no password was)/;
/** Maximum number of sessions of one process. Each session is later than the previous ones. */
const SESSIONS = 1_000_000_000;

const textOf = (name: string): string => readFileSync(join(import.meta.dirname, 'host', name), 'utf8');
const assignments = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([name, value]) => `${name}=${quoted(value)}\n`)
    .join('');

/** Creates Linux bridges on hosts over SSH. Every command that changes something passes the fence on the host. */
export function sshProvider({ clock, holder, process }: SshProviderOptions): Provider {
  const [fence, prelude] = [textOf('fence'), textOf('prelude.sh')];
  const [taking, bridging] = [textOf('take.sh'), textOf('bridges.sh')];
  const turns = createTurns();
  const away = new Map<string, { untilMs: number; why: HostTrouble }>();
  let sessions = 0;

  function turnedAway(...keys: readonly string[]): void {
    for (const [key, { untilMs }] of away) if (untilMs <= clock.monotonicMs()) away.delete(key);
    const gone = keys.flatMap((key) => away.get(key) ?? [])[0];
    if (gone) throw gone.why;
  }
  async function open(place: Place): Promise<SshConnection> {
    const { ip: host, pinned, ...rest } = place;
    turnedAway(addressOf(place), loginOf(place));
    try {
      const knownHosts = knows(place) ? place.knownHosts : [place.knownHosts, pinned].join('\n');
      return await connect({ host, ...rest, knownHosts, timeoutMs: CONNECT_MS });
    } catch (error) {
      throw remembered(place, asTrouble(error));
    }
  }
  function remembered(place: Place, why: HostTrouble): HostTrouble {
    const now = clock.monotonicMs();
    if (why.reason === 'Unreachable') away.set(addressOf(place), { untilMs: now + AWAY_MS, why });
    if (place.password !== undefined && JUDGED.test(`${why.reason}: ${why.message}`))
      away.set(loginOf(place), { untilMs: now + REFUSED_MS, why });
    return why;
  }

  return {
    async reach(place) {
      // With a password, connections are opened one at a time: if the password is refused, it is tried once.
      const connection = await (place.password === undefined
        ? open(place)
        : turns.of(loginOf(place), () => open(place)));
      const where = place.ip;
      const ask = async (command: string, input: string): Promise<string> => {
        const result = await connection.run(command, { input, timeoutMs: COMMAND_MS }).catch((error) => {
          const why = asTrouble(error);
          // A host that closes the connection upon a command is asked again without a pause.
          throw why.reason === 'SudoRefused' ? remembered(place, why) : why;
        });
        if (result.code !== 0) throw troubleOf(where, result);
        return result.stdout;
      };
      return {
        hostKeyLine: connection.hostKeyLine,
        close: () => connection.close(),
        session: (work) =>
          turns.of(place.ip, async () => {
            // While this call waited, another one may have been refused.
            turnedAway(loginOf(place));
            const { owner, since, term } = await holder();
            sessions += 1;
            const run = `${owner} ${since} ${term * SESSIONS + sessions} ${process}`;
            await ask('/bin/sh -s', assignments({ FENCE: fence, RUN: run }) + taking);
            const command = `"\${MATRYOSHKA_ROOT:-}/usr/local/sbin/matryoshka-fence" ${run} -c 'exec bash -s'`;
            const verb = (values: Readonly<Record<string, string>>) =>
              ask(command, `${assignments({ RUN: run, ...values })}${prelude}\n${bridging}`);
            const seen = seenIn(where, await verb({ VERB: 'look' }));
            const names = new Set(seen.bridges.map(({ name }) => name));
            // A failed attempt stays in the host's own list, which keeps the host taken.
            const leave = async () => void (names.size === 0 && (await verb({ VERB: 'leave' })));
            const session: Session = {
              seen,
              async put({ name, id, cidr, address }) {
                await verb({ VERB: 'put', BRIDGE: name, ID: id, CIDR: cidr, ADDRESS: address });
                names.add(name);
              },
              async remove(name) {
                await verb({ VERB: 'remove', BRIDGE: name });
                names.delete(name);
              },
            };
            const answer = await work(session).catch(async (error: unknown) => {
              await leave().catch(() => {});
              throw error;
            });
            await leave();
            return answer;
          }),
      };
    },
  };
}

const addressOf = ({ ip, port }: Place): string => `${ip} ${port}`;
const loginOf = (place: Place): string =>
  [place.user, addressOf(place), place.password, place.privateKey].join(' ');

/** Whether the user gave the host's key. A line that cannot be used is reported when connecting. */
function knows({ knownHosts, ip, port, pinned }: Place): boolean {
  try {
    return pinned === undefined || pinsOf(knownHosts, ip, port).pinned.size > 0;
  } catch {
    return true;
  }
}

const asTrouble = (error: unknown): HostTrouble => {
  if (error instanceof HostTrouble) return error;
  if (error instanceof SshError) return new HostTrouble(error.reason, error.message);
  throw error;
};
