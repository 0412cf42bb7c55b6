import { accessBy } from '#access/access.ts';
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { createInformer, type Informer } from '#runtime/cache/informer.ts';
import type { Client } from '#runtime/client/client.ts';
import { WORKSPACES, type Workspace } from '../api.ts';
import { callersBy } from './callers.ts';
import { cloudIdeMethods } from './methods.ts';
import { createGateway, type Gateway } from './server.ts';
import { waitingOn } from './waiting.ts';

export interface WorkspaceGatewayDeps {
  client: Client;
  clock: Clock;
  log: Logger;
  /** Audiences of accepted tokens, besides the API server's own. */
  audiences: readonly string[];
}

/** Creates the gateway of Workspaces, and its informer, which the caller runs. */
export function workspaceGateway(deps: WorkspaceGatewayDeps): {
  gateway: Gateway;
  workspaces: Informer<Workspace>;
} {
  const { client, clock, log } = deps;
  const workspaces = createInformer<Workspace>({ client, clock, log, resource: WORKSPACES });
  const waiting = waitingOn(workspaces);
  const gateway = createGateway({
    clock,
    log,
    methods: cloudIdeMethods({ client, clock, log, waiting }),
    callers: callersBy(accessBy(deps), clock),
  });
  void workspaces.whenSynced().then(() => gateway.open());
  return { gateway, workspaces };
}
