/** Reconciles Networks: decides which hosts get a bridge, records them in status, and lets the provider carry it out. */

import { findCondition } from '#api/conditions.ts';
import { itemBackoff } from '#base/backoff.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import { keyOf } from '#runtime/cache/object-key.ts';
import { scopedClient } from '#runtime/client/scoped-client.ts';
import { type Controller, createController } from '#runtime/controller/controller.ts';
import { watching } from '#runtime/controller/sources.ts';
import type { ControllerHost } from '#runtime/process/controller-host.ts';
import { NETWORKS, type Network } from '../api.ts';
import { bridgeNameOf } from '../bridges/bridge-name.ts';
import type { Provider } from '../bridges/provider.ts';
import { hindranceOf } from './claims.ts';
import { createCredentialStore } from './credentials.ts';
import { applyToHosts, plannedHosts, reachAll } from './round.ts';
import { outcomeOf } from './status.ts';
import { asks, goneBridges, isLetGo, isThere, letGo, taken } from './write.ts';

export interface NetworkDeps
  extends Pick<ControllerHost, 'client' | 'clock' | 'log' | 'recorder' | 'metrics'> {
  workers: number;
  networks: Informer<Network>;
  provider: Provider;
  /** Interval between checks of hosts without a change. */
  resyncMs: number;
  /** In [0, 1). */
  random: () => number;
}

/** Limit for connecting, taking and writing, each with its own bound, on the slowest host and behind its previous owner. */
const DEADLINE_MS = 180_000;
const RETRY = { baseMs: 5_000, maxMs: 300_000 };

/**
 * Keeps a bridge of every Network on each of its hosts: creates a missing one, corrects a different one, removes an old one.
 */
export function networkController(deps: NetworkDeps): Controller {
  const { clock, log, networks, provider, random, recorder, resyncMs, workers } = deps;
  const credentials = createCredentialStore(networks);
  const failures = itemBackoff(RETRY);
  const waitsForAddresses = ({ status }: Network) =>
    findCondition(status?.conditions, 'Ready')?.reason === 'CidrOverlap';

  return createController<Network>({
    name: 'network',
    for: networks,
    // Writes of a Network's status trigger no reconcile, except for Networks that wait for its addresses.
    predicates: [({ before, after }) => !before || !after || asks(before) !== asks(after)],
    watches: [watching(networks, () => networks.list().filter(waitsForAddresses).map(keyOf))],
    workers,
    deadlineMs: DEADLINE_MS,
    clock,
    log,
    observe: deps.metrics?.controller('network', workers),
    async reconcile(key, context) {
      const seen = networks.get(key);
      if (!seen || isLetGo(seen)) return undefined;
      const { uid = '' } = seen.metadata;
      const client = scopedClient(deps.client, context);
      // A stale cache must not take hosts again that were given back and may belong to another owner.
      if (seen.metadata.deletionTimestamp && !(await isThere(client, seen))) return undefined;
      const hindrance = seen.metadata.deletionTimestamp ? undefined : hindranceOf(seen, networks.list());
      const hosts = plannedHosts(seen);
      // A Network that cannot be carried out as asked keeps its present bridges.
      const concerned = hosts.filter(({ stays }) => !stays || !hindrance);
      const held = hosts.filter((host) => !concerned.includes(host));

      const reached = await reachAll(provider, seen, concerned, await credentials.of(client, seen));
      try {
        // Every possible change is recorded before it is made.
        const network = await taken(client, seen, [...held, ...reached]);
        context.signal.throwIfAborted();
        const address = `${seen.spec.gateway}/${seen.spec.cidr.split('/')[1]}`;
        const bridge = { name: bridgeNameOf(uid), id: uid, cidr: seen.spec.cidr, address };
        const outcomes = [
          ...held.map(({ record }) => ({ record, notices: [] })),
          ...(await applyToHosts(reached, bridge, goneBridges(client, networks))),
        ];
        const round = { hindrance, outcomes, bridge: bridge.name };
        const { status, notices } = outcomeOf(network, round, clock.now());
        const isDone = network.metadata.deletionTimestamp && status.hosts?.length === 0;
        const reported = isDone ? outcomes.flatMap((one) => one.notices) : notices;
        for (const { type, reason, message } of reported) recorder.event(network, type, reason, message);
        if (isDone) {
          await letGo(client, network);
          failures.forget(uid);
          return undefined;
        }
        if (canonicalJson(status) !== canonicalJson(network.status))
          await client.updateStatus<Network>(NETWORKS, { ...network, status });
        const hasTrouble = outcomes.some((one) => 'trouble' in one);
        if (!hasTrouble) failures.forget(uid);
        return { requeueAfterMs: (hasTrouble ? failures.next(uid) : resyncMs) * (0.8 + 0.4 * random()) };
      } finally {
        for (const one of reached) if ('ground' in one) one.ground.close();
      }
    },
  });
}
