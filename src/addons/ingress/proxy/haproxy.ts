import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { type Clock, sleep } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import type { Logger } from '#base/log.ts';
import { type Command, changedMaps, commandsFor, mapCommands, needsReload } from './changes.ts';
import { filesOf } from './config.ts';
import { flagsFile, mapFile, type ProxyPaths, pemFile } from './locations.ts';
import { type HaproxyProcess, problemOfConfig, startHaproxy } from './process.ts';
import { ask } from './runtime-api.ts';
import type { ProxySettings } from './settings.ts';
import { OWN_PEM, type Pair, type ProxyState, type Served, stateOf } from './state.ts';

/** Reloads come at least this far apart: each leaves a process behind while connections last. */
const RELOAD_APART_MS = 500;
const AGAIN_MS = 1_000;

export interface HaproxyOptions {
  /** Path or name of the program. */
  binary: string;
  /** Of its own: files in it are replaced. It holds keys, so it is to be in memory. */
  folder: string;
  settings: ProxySettings;
  /** What clients see whose host has no certificate. */
  own: Pair;
  clock: Clock;
  log: Logger;
}

/** A HAProxy that serves what it is given. */
export interface Haproxy {
  /** Serves this from now on; the first call starts HAProxy. Resolves when it serves this or what came after it. */
  apply(served: Served): Promise<void>;
  /** From now on each answer is the last of its connection. */
  shed(): Promise<void>;
  /** Lets nobody in, and resolves when the last request is answered, or when `signal` ends them. */
  close(signal: AbortSignal): Promise<void>;
  isServing(): boolean;
}

export function createHaproxy(options: HaproxyOptions): Haproxy {
  const { binary, folder, settings, own, clock, log } = options;
  const hasIpv6 = existsSync('/proc/net/if_inet6') && readFileSync('/proc/net/if_inet6', 'utf8') !== '';
  let generation = 0;
  let paths: ProxyPaths = pathsOf(generation);
  let child: HaproxyProcess | undefined;
  /** What the process serves; undefined where that is not known. */
  let running: ProxyState | undefined;
  let wanted: ProxyState | undefined;
  let isClosing = false;
  let isShedding = false;
  let lastReloadMs = Number.NEGATIVE_INFINITY;
  let work: Promise<void> = Promise.resolve();
  /** PEMs that HAProxy refused, by file name. */
  const refused = new Map<string, string>();

  function pathsOf(at: number): ProxyPaths {
    return { folder, adminSocket: `${folder}/admin-${at}.sock` };
  }

  async function write(state: ProxyState): Promise<void> {
    generation += 1;
    paths = pathsOf(generation);
    const files = filesOf(state, settings, paths, hasIpv6);
    await mkdir(`${folder}/certificates`, { recursive: true, mode: 0o700 });
    for (const [path, text] of files) await replace(path, text);
    const kept = new Set([...files.keys()].map((path) => basename(path)));
    for (const name of await readdir(`${folder}/certificates`))
      if (!kept.has(name)) await rm(`${folder}/certificates/${name}`);
    if (isShedding) await replace(flagsFile(paths), 'shed yes\n');
  }

  /** Writes files that HAProxy takes; a certificate that it refuses is left out, and its hosts are shown our own. */
  async function writeGood(state: ProxyState): Promise<ProxyState> {
    const usable = withoutPems(state, refused);
    await write(usable);
    const problem = await problemOfConfig(binary, paths);
    if (problem === undefined) return usable;
    const named = [...usable.pems.keys()].filter(
      (name) => name !== OWN_PEM && problem.includes(pemFile(paths, name)),
    );
    if (named.length === 0) throw new Error(`haproxy refuses its configuration: ${problem}`);
    for (const name of named) refused.set(name, usable.pems.get(name) ?? '');
    log.error({ certificates: named }, 'haproxy refuses these certificates');
    return writeGood(state);
  }

  async function begin(state: ProxyState): Promise<void> {
    const usable = await writeGood(state);
    const started = await startHaproxy(binary, paths, { clock, log });
    child = started;
    running = usable;
    void started.ended.then(() => {
      if (child === started) child = undefined;
      if (isClosing) return;
      log.error({}, 'haproxy ended; another one takes its place');
      running = undefined;
      catchUp();
    });
  }

  async function reload(state: ProxyState, there: HaproxyProcess): Promise<void> {
    await sleep(Math.max(0, lastReloadMs + RELOAD_APART_MS - clock.monotonicMs()), undefined, clock);
    const before = paths;
    const usable = await writeGood(state);
    await there.reload();
    lastReloadMs = clock.monotonicMs();
    running = usable;
    await rm(before.adminSocket, { force: true });
  }

  async function run({ command, payload, takes }: Command): Promise<void> {
    const answer = await ask(paths.adminSocket, command, payload);
    // What it says of a certificate may have parts of the key.
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
    const usable = withoutPems(target, refused);
    if (running && !needsReload(running, usable)) {
      try {
        return await change(running, usable);
      } catch (error) {
        log.error({ error: messageOf(error) }, 'haproxy is reloaded, as it does not follow');
      }
    }
    await reload(target, child);
  }

  /** One after the other; a change that comes meanwhile is taken up with the next. */
  function catchUp(): Promise<void> {
    let done: ProxyState | undefined;
    work = work.then(async () => {
      while (wanted && !isClosing && (done !== wanted || !running)) {
        const target = wanted;
        try {
          await bring(target);
          done = target;
        } catch (error) {
          log.error({ error: messageOf(error) }, 'haproxy does not serve the newest routes; trying again');
          await sleep(AGAIN_MS, undefined, clock);
        }
      }
    });
    return work;
  }

  return {
    apply(served) {
      wanted = stateOf(served, own);
      return catchUp();
    },
    shed() {
      isShedding = true;
      work = work.then(() =>
        child
          ? run({ command: `add map ${flagsFile(paths)} shed yes`, takes: /^$/ }).catch((error: unknown) =>
              log.error({ error: messageOf(error) }, 'haproxy keeps connections'),
            )
          : undefined,
      );
      return work;
    },
    async close(signal) {
      isClosing = true;
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

/** Written aside and renamed: HAProxy never reads half a file. */
async function replace(path: string, text: string): Promise<void> {
  const aside = `${dirname(path)}/.${basename(path)}.new`;
  await writeFile(aside, text, { mode: 0o600 });
  await rename(aside, path);
}

function withoutPems(state: ProxyState, refused: ReadonlyMap<string, string>): ProxyState {
  const isRefused = (name: string) => refused.get(name) === state.pems.get(name);
  const bad = new Set([...refused.keys()].filter((name) => state.pems.has(name) && isRefused(name)));
  if (bad.size === 0) return state;
  return {
    ...state,
    pems: new Map([...state.pems].filter(([name]) => !bad.has(name))),
    shown: new Map([...state.shown].map(([host, pem]) => [host, bad.has(pem) ? OWN_PEM : pem])),
  };
}

/** What HAProxy has after commands: backends and certificates that nobody names any more stay until a reload. */
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
