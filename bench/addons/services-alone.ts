import { setTimeout as sleep } from 'node:timers/promises';
import pMap from 'p-map';
import { SERVICES, type Service } from '#api/core.ts';
import { createLogger } from '#base/log.ts';
import { createInformer } from '#runtime/cache/informer.ts';
import type { Client } from '#runtime/client/client.ts';

/**
 * Flags of an API server that keeps addresses of Services in a bitmap, as before Kubernetes 1.33. Later versions count all
 * addresses, twice, for each new Service (ipallocator.go, Used), so the time for 5,000 grows with the square of their
 * number.
 */
export const WITH_BITMAP = [
  '--emulated-version=kube=1.33',
  '--feature-gates=MultiCIDRServiceAllocator=false,DisableAllocatorDualWrite=false',
];

const WAIT_MS = 180_000;
const AT_ONCE = 64;

/** Resolves when this number of Services is in the cache; rejects after three minutes. */
export async function untilServices(seen: { readonly size: number }, count: number): Promise<void> {
  for (const until = performance.now() + WAIT_MS; seen.size < count; await sleep(20))
    if (performance.now() > until) throw new Error(`${seen.size} of ${count} Services after ${WAIT_MS} ms`);
}

/** Returns the seconds in which one client creates this number of Services, without a consumer, and sees them. */
export async function createServicesAlone(client: Client, namespace: string, count: number): Promise<number> {
  const ending = new AbortController();
  const seen = createInformer<Service>({
    ...{ client, resource: SERVICES, log: createLogger('silent') },
    selection: { namespace },
  });
  const watching = seen.run(ending.signal);
  const spec = { selector: { app: 'alone' }, ports: [{ port: 8080 }] };
  const began = performance.now();
  const all = Array.from({ length: count }, (_, index) => ({
    metadata: { namespace, name: `alone-${index}` },
    spec,
  }));
  try {
    await pMap(all, (service) => client.create<Service>(SERVICES, service), { concurrency: AT_ONCE });
    await untilServices(seen, count);
    return (performance.now() - began) / 1_000;
  } finally {
    ending.abort(new Error('done'));
    await watching;
  }
}
