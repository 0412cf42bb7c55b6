import { setImmediate } from 'node:timers/promises';
import type { KubeObject, Resource } from '#api/meta.ts';
import { isExpired } from './api-error.ts';
import type { Client } from './client.ts';
import { keyOf, keyText } from './object-key.ts';
import type { Selection } from './reflector.ts';

export interface Listed<T> {
  /** By key: gathered page by page, so that nothing is left to be done for all at once. */
  items: Map<string, T>;
  resourceVersion: string;
}

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
  { pageSize, signal, each }: { pageSize: number; signal: AbortSignal; each: (object: T) => T },
): Promise<Listed<T>> {
  try {
    return await pages(pageSize);
  } catch (error) {
    if (!isExpired(error)) throw error;
    return pages(undefined);
  }

  async function pages(limit: number | undefined): Promise<Listed<T>> {
    const ask = (token?: string) =>
      client.list<T>(resource, { ...selection, limit, continue: token, signal, timeoutMs: 60_000 });
    const items = new Map<string, T>();
    let asked = ask();
    for (;;) {
      const page = await asked;
      const token = page.metadata.continue;
      if (token) asked = ask(token);
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
