import { setImmediate } from 'node:timers/promises';
import type { KubeObject, Resource } from '#api/meta.ts';
import type { Clock } from '#base/clock.ts';
import type { Client } from '../client/client.ts';
import type { Selection } from '../client/client-options.ts';
import { isExpired } from '../wire/api-error.ts';
import { keyOf, keyText } from './object-key.ts';

export interface Listed<T> {
  /** Objects by key, collected page by page, so that no work for all of them is left at the end. */
  items: Map<string, T>;
  resourceVersion: string;
}

export interface ListingOptions<T> {
  /** Maximum number of objects of a page. */
  pageSize: number;
  signal: AbortSignal;
  each: (object: T) => T;
  clock: Clock;
}

/** Number of objects of the first page, as in client-go's tools/pager. */
const FIRST_PAGE = 500;
/** Limit of a fast page. Each page costs the server some 10 ms, so after a fast page the next one is twice as long. */
const SOON_MS = 2_000;
/** Number of objects after which the event loop gets a turn. */
const BREATH = 50;

/**
 * Lists all objects, page by page, in their present state: it sends no resourceVersion, so the answer is never older than
 * the request, even from a server that lags. The server prepares a page while the previous one is processed, and the event
 * loop gets regular turns. After an expired continue token, it starts again without pages (client-go tools/pager
 * FullListIfExpired).
 */
export async function listAll<T extends KubeObject>(
  client: Client,
  resource: Resource,
  selection: Selection,
  { pageSize, signal, each, clock }: ListingOptions<T>,
): Promise<Listed<T>> {
  try {
    return await pages(Math.min(FIRST_PAGE, pageSize));
  } catch (error) {
    if (!isExpired(error)) throw error;
    return pages(undefined);
  }

  async function pages(first: number | undefined): Promise<Listed<T>> {
    const ask = async (limit: number | undefined, token?: string) => {
      const askedMs = clock.monotonicMs();
      const page = await client.list<T>(resource, {
        ...selection,
        limit,
        continue: token,
        signal,
        timeoutMs: 60_000,
      });
      return { page, tookMs: clock.monotonicMs() - askedMs };
    };
    const items = new Map<string, T>();
    let limit = first;
    let asked = ask(limit);
    for (;;) {
      const { page, tookMs } = await asked;
      const token = page.metadata.continue;
      if (limit !== undefined) limit = Math.min(tookMs < SOON_MS ? limit * 2 : FIRST_PAGE, pageSize);
      if (token) asked = ask(limit, token);
      // If an error ends the loop here, no code awaits this promise.
      asked.catch(() => {});
      for (const [at, item] of page.items.entries()) {
        if (at % BREATH === 0) await setImmediate();
        items.set(keyText(keyOf(item)), each(item));
      }
      if (!token) return { items, resourceVersion: page.metadata.resourceVersion ?? '' };
    }
  }
}
