import type { MapName } from './state.ts';

/** Where the files and sockets of one proxy are. */
export interface ProxyPaths {
  folder: string;
  /** Another one after each reload: a command never reaches a process that the reload replaced. */
  adminSocket: string;
}

export const configFile = ({ folder }: ProxyPaths): string => `${folder}/haproxy.cfg`;
export const mapFile = ({ folder }: ProxyPaths, name: MapName): string => `${folder}/${name}.map`;
export const pemFile = ({ folder }: ProxyPaths, name: string): string => `${folder}/certificates/${name}`;
export const crtListFile = ({ folder }: ProxyPaths): string => `${folder}/crt-list`;
export const masterSocket = ({ folder }: ProxyPaths): string => `${folder}/master.sock`;
export const metricsSocket = ({ folder }: ProxyPaths): string => `${folder}/metrics.sock`;
/** Where the proxy asks its own backends that decide about requests. */
export const authSocket = ({ folder }: ProxyPaths): string => `${folder}/auth.sock`;
export const luaFile = ({ folder }: ProxyPaths): string => `${folder}/requests.lua`;
/** Has the key `shed` while each answer is to be the last of its connection. */
export const flagsFile = ({ folder }: ProxyPaths): string => `${folder}/flags.map`;
