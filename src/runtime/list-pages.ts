import { setImmediate } from 'node:timers/promises';
import type { KubeObject, Resource } from '#api/meta.ts';
import { isExpired } from './api-error.ts';
import type { Client } from './client.ts';
import type { Selection } from './reflector.ts';

export interface Listed<T> {
  items: T[];
  resourceVersion: string;
}

/**
 * Lists everything, page by page, as of now: no resourceVersion is sent, so the answer is never older than
 * the question, even from a server that lags. Between pages the event loop breathes. A continue token that
 * expired starts again without pages (client-go tools/pager FullListIfExpired).
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
    const items: T[] = [];
    let next: string | undefined;
    for (;;) {
      const page = await client.list<T>(resource, {
        ...selection,
        limit,
        continue: next,
        signal,
        timeoutMs: 60_000,
      });
      for (const item of page.items) items.push(each(item));
      next = page.metadata.continue;
      if (!next) return { items, resourceVersion: page.metadata.resourceVersion ?? '' };
      await setImmediate();
    }
  }
}
