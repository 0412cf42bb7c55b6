import type { MapName } from './state.ts';

/** Paths of the files and sockets of one proxy. */
export interface ProxyPaths {
  folder: string;
  /** Changes with each reload, so a command never reaches a process that the reload replaced. */
  adminSocket: string;
}

export const configFile = ({ folder }: ProxyPaths): string => `${folder}/haproxy.cfg`;
export const mapFile = ({ folder }: ProxyPaths, name: MapName): string => `${folder}/${name}.map`;
export const pemFile = ({ folder }: ProxyPaths, name: string): string => `${folder}/certificates/${name}`;
export const crtListFile = ({ folder }: ProxyPaths): string => `${folder}/crt-list`;
export const masterSocket = ({ folder }: ProxyPaths): string => `${folder}/master.sock`;
export const metricsSocket = ({ folder }: ProxyPaths): string => `${folder}/metrics.sock`;
/** Socket through which the proxy asks the backends that decide about requests. */
export const authSocket = ({ folder }: ProxyPaths): string => `${folder}/auth.sock`;
export const luaFile = ({ folder }: ProxyPaths): string => `${folder}/requests.lua`;
/** Map with the key `shed` while each answer is the last of its connection. */
export const flagsFile = ({ folder }: ProxyPaths): string => `${folder}/flags.map`;
