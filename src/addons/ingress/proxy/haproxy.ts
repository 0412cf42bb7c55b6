import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { type Clock, sleep } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import type { Logger } from '#base/log.ts';
import { type Command, changedMaps, commandsFor, mapCommands, needsReload } from './changes.ts';
import { filesOf } from './config.ts';
import { configFile, flagsFile, mapFile, type ProxyPaths } from './locations.ts';
import { type HaproxyProcess, problemOfConfig, startHaproxy } from './process.ts';
import { createRefused } from './refused.ts';
import { ask } from './runtime-api.ts';
import type { ProxySettings } from './settings.ts';
import { type Pair, type ProxyState, type Served, stateOf } from './state.ts';

/** Shortest time between two reloads: each reload leaves a process behind while connections last. */
const RELOAD_INTERVAL_MS = 500;
const AGAIN_MS = 1_000;
const AGAIN_MOST_MS = 30_000;
/** Characters of HAProxy's output that a log entry gets. */
const MOST_SAID = 2_000;

export interface HaproxyOptions {
  /** Path or name of the program. */
  binary: string;
  /** Folder that only this HAProxy uses. It holds keys, so it should be in memory. */
  folder: string;
  settings: ProxySettings;
  /** Certificate for hosts that have none. */
  own: Pair;
  clock: Clock;
  log: Logger;
}

/** Running HAProxy whose state can be replaced. */
export interface Haproxy {
  /**
   * Serves this state from now on; the first call starts HAProxy. Resolves when HAProxy serves this state or a later one.
   */
  apply(served: Served): Promise<void>;
  /** Ends each connection after its next answer. */
  shed(): Promise<void>;
  /** Closes the listeners. Resolves when the last request is answered, or after `signal` ended the requests. */
  close(signal: AbortSignal): Promise<void>;
  isServing(): boolean;
}

export function createHaproxy(options: HaproxyOptions): Haproxy {
  const { binary, folder, settings, own, clock, log } = options;
  const hasIpv6 = existsSync('/proc/net/if_inet6') && readFileSync('/proc/net/if_inet6', 'utf8') !== '';
  let generation = 0;
  let paths: ProxyPaths = pathsOf(generation);
  let child: HaproxyProcess | undefined;
  /** State that the process serves; undefined if it is unknown. */
  let running: ProxyState | undefined;
  let wanted: ProxyState | undefined;
  let isClosing = false;
  let isShedding = false;
  let lastReloadMs = Number.NEGATIVE_INFINITY;
  let work: Promise<void> = Promise.resolve();
  let failures = 0;
  /** Ends the pause after a failure. */
  let pause = new AbortController();
  const refused = createRefused();

  function pathsOf(at: number): ProxyPaths {
    return { folder, adminSocket: `${folder}/admin-${at}.sock` };
  }

  /** Writes all files; returns haproxy.cfg. */
  async function write(state: ProxyState, into: ProxyPaths): Promise<string> {
    const files = filesOf(state, settings, into, hasIpv6);
    await mkdir(`${folder}/certificates`, { recursive: true, mode: 0o700 });
    for (const [path, text] of files) await replace(path, text);
    const kept = new Set([...files.keys()].map((path) => basename(path)));
    for (const name of await readdir(`${folder}/certificates`))
      if (!kept.has(name)) await rm(`${folder}/certificates/${name}`);
    if (isShedding) await replace(flagsFile(into), 'shed yes\n');
    return files.get(configFile(into)) ?? '';
  }

  /** Writes files that HAProxy accepts, without the objects that it refuses. Throws if it refuses anything else. */
  async function writeGood(state: ProxyState): Promise<{ usable: ProxyState; written: ProxyPaths }> {
    generation += 1;
    const written = pathsOf(generation);
    for (;;) {
      const usable = refused.without(state);
      const config = await write(usable, written);
      const problem = await problemOfConfig(binary, written);
      if (problem === undefined) return { usable, written };
      const named = refused.learn(usable, config, problem, written);
      if (named.length === 0)
        throw new Error(`haproxy refuses its configuration: ${problem.slice(0, MOST_SAID)}`);
      log.error({ refused: named }, 'haproxy refuses these; all others are served');
    }
  }

  async function begin(state: ProxyState): Promise<void> {
    const { usable, written } = await writeGood(state);
    const started = await startHaproxy(binary, written, { clock, log });
    paths = written;
    child = started;
    running = usable;
    void started.ended.then(() => {
      if (child === started) child = undefined;
      if (isClosing) return;
      log.error({}, 'haproxy ended; another one takes its place');
      running = undefined;
      clock.after(AGAIN_MS, () => void catchUp());
    });
  }

  async function reload(state: ProxyState, there: HaproxyProcess): Promise<void> {
    await sleep(Math.max(0, lastReloadMs + RELOAD_INTERVAL_MS - clock.monotonicMs()), undefined, clock);
    const before = paths;
    const { usable, written } = await writeGood(state);
    // If the answer is lost, HAProxy may serve either state.
    running = undefined;
    await there.reload();
    paths = written;
    lastReloadMs = clock.monotonicMs();
    running = usable;
    await rm(before.adminSocket, { force: true });
  }

  async function run({ command, payload, takes }: Command): Promise<void> {
    const answer = await ask(paths.adminSocket, command, payload);
    // The answer to a certificate may contain parts of the key.
    if (!takes.test(answer))
      throw new Error(
        `haproxy did not take "${command}"${command.startsWith('set ssl cert') ? '' : `: ${answer.slice(0, 200)}`}`,
      );
  }

  async function change(from: ProxyState, to: ProxyState): Promise<void> {
    running = undefined;
    for (const command of commandsFor(from, to, paths)) await run(command);
    for (const name of changedMaps(from, to)) {
      const version = /(\d+)$/.exec(await ask(paths.adminSocket, `prepare map ${mapFile(paths, name)}`))?.[1];
      if (version === undefined) throw new Error(`haproxy did not prepare map ${name}`);
      for (const command of mapCommands(paths, name, version, to)) await run(command);
    }
    running = merged(from, to);
  }

  async function bring(target: ProxyState): Promise<void> {
    if (!child) return begin(target);
    const usable = refused.without(target);
    if (running && !needsReload(running, usable)) {
      try {
        return await change(running, usable);
      } catch (error) {
        log.error({ error: messageOf(error) }, 'haproxy is reloaded, as it does not follow');
      }
    }
    await reload(target, child);
  }

  /** Applies changes one at a time. Changes that arrive meanwhile are combined into the next one. */
  function catchUp(): Promise<void> {
    let done: ProxyState | undefined;
    work = work.then(async () => {
      while (wanted && !isClosing && (done !== wanted || !running)) {
        const target = wanted;
        try {
          await bring(target);
          done = target;
          failures = 0;
        } catch (error) {
          log.error({ error: messageOf(error) }, 'haproxy does not serve the newest routes; trying again');
          pause = new AbortController();
          const ms = Math.min(AGAIN_MOST_MS, AGAIN_MS * 2 ** failures);
          failures += 1;
          // A change or the shutdown ends the pause at once.
          await sleep(ms, pause.signal, clock).catch(() => {});
        }
      }
    });
    return work;
  }

  return {
    apply(served) {
      wanted = stateOf(served, own);
      pause.abort();
      return catchUp();
    },
    async shed() {
      isShedding = true;
      // This does not wait for changes, which may fail repeatedly.
      if (!child) return;
      await run({ command: `add map ${flagsFile(paths)} shed yes`, takes: /^$/ }).catch((error: unknown) =>
        log.error({ error: messageOf(error) }, 'haproxy keeps connections'),
      );
    },
    async close(signal) {
      isClosing = true;
      pause.abort();
      await work;
      const there = child;
      if (!there) return;
      there.drain();
      const end = () => there.kill();
      if (signal.aborted) end();
      else signal.addEventListener('abort', end, { once: true });
      await there.ended;
      signal.removeEventListener('abort', end);
    },
    isServing: () => child !== undefined,
  };
}

/** Writes a temporary file and renames it, so HAProxy never reads half a file. */
async function replace(path: string, text: string): Promise<void> {
  const aside = `${dirname(path)}/.${basename(path)}.new`;
  await writeFile(aside, text, { mode: 0o600 });
  await rename(aside, path);
}

/** Returns HAProxy's state after the commands. Unused backends and certificates stay until a reload. */
function merged(from: ProxyState, to: ProxyState): ProxyState {
  const gone = [...from.backends]
    .filter(([name]) => !to.backends.has(name))
    .map(([name, backend]) => [name, { ...backend, servers: new Map<string, string>() }] as const);
  return {
    ...to,
    backends: new Map([...to.backends, ...gone]),
    pems: new Map([...from.pems, ...to.pems]),
  };
}
