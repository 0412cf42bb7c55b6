import type { KubeObject, Resource } from '#api/meta.ts';
import type { Client } from '#runtime/client/client.ts';
import { isAlreadyExists, isApiError } from '#runtime/wire/api-error.ts';
import type { CannotRun, Workspace } from '../api.ts';
import { type Hindrance, isLabelled, isMine, takenBy, unlabelled } from './plan.ts';

interface Refused {
  reason: CannotRun;
  message: string;
}

export interface Maker {
  make(resource: Resource, object: KubeObject): Promise<void>;
  /** Returns the message of the API server about a refused object. */
  refused(): Refused | undefined;
  /** Returns the hindrance of a name whose object the caches do not show. */
  taken(): Hindrance | undefined;
}

/** Returns the refusal in an error of the API server; undefined for an error that another attempt may fix. */
function refusalOf(error: unknown): Refused | undefined {
  if (!isApiError(error, 'Forbidden', 'Invalid', 'BadRequest')) return undefined;
  const { message } = error;
  if (/exceeded quota/.test(message)) return { reason: 'QuotaExceeded', message };
  // The namespace's account, and the sums of a quota, appear a moment after these objects.
  if (/looking up service account|status unknown for quota/.test(message)) return undefined;
  return { reason: 'Refused', message };
}

/** Returns functions that create a Workspace's objects, and remember refusals. */
export function makerFor(client: Client, workspace: Workspace): Maker {
  let refused: Refused | undefined;
  let taken: Hindrance | undefined;
  return {
    async make(resource, object) {
      try {
        await client.create(resource, object);
      } catch (error) {
        refused = refusalOf(error);
        if (refused) return;
        if (!isAlreadyExists(error)) throw error;
        const { namespace = '', name = '' } = object.metadata;
        const there = await client.find(resource, { namespace, name });
        if (there && !isMine(there, workspace)) taken = takenBy(resource.kind, name);
        else if (there && !isLabelled(there)) taken = unlabelled(resource.kind, name);
      }
    },
    refused: () => refused,
    taken: () => taken,
  };
}
