import { listClusters } from '#rest/read-routes.ts';
import { readConfigFile, writeConfigFile } from './config-file.ts';
import { CommandFailure, wrongUse } from './failure.ts';
import type { Io } from './io.ts';
import {
  authorityOf,
  type ConnectionOptions,
  configPathOf,
  connected,
  readNamed,
  serverUrl,
} from './session.ts';

async function tokenFor({ tokenFile }: ConnectionOptions, io: Io): Promise<string> {
  if (tokenFile !== undefined) return readNamed(tokenFile, '--token-file').trim();
  const text = io.isTerminal ? await io.ask('Token: ', true) : await io.input();
  return text.trim();
}

/** Stores server, authority and token, after the server has accepted the token. */
export async function login(options: ConnectionOptions, io: Io): Promise<void> {
  const path = configPathOf(options);
  const stored = readConfigFile(path);
  const server = options.server ?? stored.server;
  if (server === undefined) throw wrongUse('--server: is missing; write it like https://192.0.2.10:32443');
  const url = serverUrl(server);
  const authority = authorityOf(options, stored);
  const token = await tokenFor(options, io);
  if (token === '')
    throw wrongUse(
      `there is no token${io.isTerminal ? '' : ' on standard input'}; "kubectl create token NAME" makes one`,
    );
  const namespace = options.namespace ?? stored.namespace;
  await connected(url, { token, authority, stored, namespace, region: undefined }, async (session) => {
    try {
      const query = { namespace: session.namespace, limit: 1 };
      await session.call(listClusters, { params: {}, query });
    } catch (error) {
      // A user may have the right to one cluster, and not to the list.
      if (!(error instanceof CommandFailure) || error.status !== 403) throw error;
      io.note(`You may not list clusters in namespace ${session.namespace}; -n names another one.`);
    }
  });
  writeConfigFile(path, {
    server: url,
    ca: authority,
    token,
    ...(namespace === undefined ? {} : { namespace }),
  });
  io.print(`${url}: logged in; ${path} has the token`);
}
