import { setImmediate } from 'node:timers/promises';
import type { KubeObject, Resource } from '#api/meta.ts';
import type { Clock } from '#base/clock.ts';
import type { Client } from '../client/client.ts';
import type { Selection } from '../client/client-options.ts';
import { isExpired } from '../wire/api-error.ts';
import { keyOf, keyText } from './object-key.ts';

export interface Listed<T> {
  /** By key: gathered page by page, so that nothing is left to be done for all at once. */
  items: Map<string, T>;
  resourceVersion: string;
}

export interface ListingOptions<T> {
  /** Objects of a page, at most. */
  pageSize: number;
  signal: AbortSignal;
  each: (object: T) => T;
  clock: Clock;
}

/** Objects of the first page, as of client-go's tools/pager. */
const FIRST_PAGE = 500;
/** Each page costs the server some 10 ms by itself: where one came so soon, the next is twice as long. */
const SOON_MS = 2_000;
/** Objects between two breaths of the event loop. */
const BREATH = 50;

/**
 * Lists everything, page by page, as of now: no resourceVersion is sent, so the answer is never older than
 * the question, even from a server that lags. The server makes a page while we work through the one before, and
 * the event loop breathes every so often. A continue token that expired starts again without pages (client-go
 * tools/pager FullListIfExpired).
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
      // Should a throw end this here, nobody awaits it.
      asked.catch(() => {});
      for (const [at, item] of page.items.entries()) {
        if (at % BREATH === 0) await setImmediate();
        items.set(keyText(keyOf(item)), each(item));
      }
      if (!token) return { items, resourceVersion: page.metadata.resourceVersion ?? '' };
    }
  }
}
