import { crtListLine, mapText, serverLine } from './config.ts';
import { crtListFile, mapFile, type ProxyPaths, pemFile } from './locations.ts';
import { MAP_NAMES, type MapName, type ProxyState } from './state.ts';

/** Command of the runtime API. `takes` matches HAProxy's answer if the command succeeded. */
export interface Command {
  command: string;
  payload?: string;
  takes: RegExp;
}

const NOTHING = /^$/;
/** Longest payload: HAProxy reads it into one buffer. */
const PAYLOAD_BYTES = 12_000;

/** Whether the change needs a reload: another backend, or a host that gains, loses or changes its certificate. */
export function needsReload(from: ProxyState, to: ProxyState): boolean {
  for (const [name, { protocol, lines }] of to.backends) {
    const before = from.backends.get(name);
    if (before?.protocol !== protocol || before.lines.join() !== lines.join()) return true;
  }
  for (const [host, pem] of from.shown) if (to.shown.get(host) !== pem) return true;
  return false;
}

/** Returns the commands that bring HAProxy from one state to another without a reload. Additions come first. */
export function commandsFor(from: ProxyState, to: ProxyState, paths: ProxyPaths): Command[] {
  return [...certificatesAdded(from, to, paths), ...serversAdded(from, to), ...serversGone(from, to)];
}

function certificatesAdded(from: ProxyState, to: ProxyState, paths: ProxyPaths): Command[] {
  const commands: Command[] = [];
  for (const [name, pem] of to.pems) {
    const before = from.pems.get(name);
    if (before === pem) continue;
    const file = pemFile(paths, name);
    if (before === undefined)
      commands.push({ command: `new ssl cert ${file}`, takes: /^New empty certificate/ });
    commands.push(
      { command: `set ssl cert ${file}`, payload: pem, takes: /^Transaction (created|updated)/ },
      { command: `commit ssl cert ${file}`, takes: /Success!$/ },
    );
  }
  for (const [host, pem] of to.shown)
    if (!from.shown.has(host))
      commands.push({
        command: `add ssl crt-list ${crtListFile(paths)}`,
        payload: crtListLine(paths, host, pem),
        takes: /Success!$/,
      });
  return commands;
}

function serversAdded(from: ProxyState, to: ProxyState): Command[] {
  const commands: Command[] = [];
  for (const [name, backend] of to.backends)
    for (const [server, address] of backend.servers) {
      if (from.backends.get(name)?.servers.has(server)) continue;
      const where = `${name}/${server}`;
      commands.push(
        // A server that had requests in progress when it was removed may still exist.
        {
          command: `add server ${where} ${serverLine(backend, address)}`,
          takes: /^New server registered|^Already exists/,
        },
        { command: `enable health ${where}`, takes: NOTHING },
        { command: `set server ${where} state ready`, takes: NOTHING },
      );
    }
  return commands;
}

function serversGone(from: ProxyState, to: ProxyState): Command[] {
  const commands: Command[] = [];
  for (const [name, { servers }] of from.backends)
    for (const server of servers.keys()) {
      if (to.backends.get(name)?.servers.has(server)) continue;
      const where = `${name}/${server}`;
      commands.push(
        { command: `set server ${where} state maint`, takes: NOTHING },
        // A server with requests in progress stays until the next reload, without new requests.
        { command: `del server ${where}`, takes: /^Server deleted|still has connections/ },
      );
    }
  return commands;
}

/** Lists the maps that differ. */
export const changedMaps = (from: ProxyState, to: ProxyState): MapName[] =>
  MAP_NAMES.filter((name) => mapText(from.maps[name]) !== mapText(to.maps[name]));

/** Splits the lines of a map into payloads, each short enough for one command. */
export function payloadsOf(map: ReadonlyMap<string, string>): string[] {
  const payloads: string[] = [];
  let payload = '';
  for (const line of mapText(map).split(/(?<=\n)/)) {
    if (payload !== '' && payload.length + line.length > PAYLOAD_BYTES) {
      payloads.push(payload);
      payload = '';
    }
    payload += line;
  }
  return payload === '' ? payloads : [...payloads, payload];
}

/** Returns the commands that replace a map atomically. `version` is HAProxy's answer to `prepare map`. */
export function mapCommands(paths: ProxyPaths, name: MapName, version: string, state: ProxyState): Command[] {
  const file = mapFile(paths, name);
  return [
    ...payloadsOf(state.maps[name]).map((payload) => ({
      command: `add map @${version} ${file}`,
      payload,
      takes: NOTHING,
    })),
    { command: `commit map @${version} ${file}`, takes: NOTHING },
  ];
}
