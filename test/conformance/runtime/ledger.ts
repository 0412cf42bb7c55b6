import { createLogger } from '#base/log.ts';
import { createInformer } from '#runtime/cache/informer.ts';
import type { Client } from '#runtime/client/client.ts';
import { scopedClient } from '#runtime/client/scoped-client.ts';
import { createController } from '#runtime/controller/controller.ts';
import { createElection } from '#runtime/leader/leader.ts';
import { createManager } from '#runtime/process/manager.ts';
import { CONFIG_MAPS, type ConfigMap } from '#runtime/testing/test-namespace.ts';

/** ConfigMap in which the leader writes its name, again and again. */
export const LEDGER = 'ledger';

/**
 * Writes as fast as it can while it is the leader: each write triggers the next. Rejects with LeadershipLost, as the manager
 * does.
 */
export async function runLedger(
  client: Client,
  { namespace, identity, signal }: { namespace: string; identity: string; signal: AbortSignal },
): Promise<void> {
  const log = createLogger('silent');
  const selection = { namespace, fieldSelector: `metadata.name=${LEDGER}` };
  const ledgers = createInformer<ConfigMap>({ client, resource: CONFIG_MAPS, selection, log });
  const election = createElection({
    client,
    lease: { namespace, name: 'writer' },
    identity,
    leaseMs: 3000,
    renewMs: 2000,
    retryMs: 300,
    log,
  });
  const guarded = scopedClient(client, { mayWrite: election.isLeading });
  const controller = createController({
    name: 'ledger',
    for: ledgers,
    log,
    async reconcile(key, context) {
      const ledger = ledgers.get(key);
      if (!ledger) return;
      const entries = Number(ledger.data?.['entries'] ?? 0) + 1;
      const data = { by: identity, entries: String(entries) };
      await scopedClient(guarded, context).update<ConfigMap>(CONFIG_MAPS, { ...ledger, data });
    },
  });
  await createManager({ caches: [ledgers], controllers: [controller], election, log }).run(signal);
}
