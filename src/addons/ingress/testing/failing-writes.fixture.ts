import type { Client } from '#runtime/client/client.ts';
import { ApiError, type ApiReason } from '#runtime/wire/api-error.ts';

/** Fault of a write by the controller: it fails, or its answer is lost. Status and Events must come out the same. */
export interface Fault {
  write: 'patch' | 'create';
  reason: ApiReason;
  isDone: boolean;
}

/**
 * Wraps a client whose next writes in a namespace fail as planned. `statusWrites` counts status writes in that namespace.
 */
export function failingWrites(namespace: () => string) {
  const faults: Fault[] = [];
  const seen = { statusWrites: 0 };
  const failing = (client: Client): Client => {
    const unless = async <T>(write: Fault['write'], act: () => Promise<T>): Promise<T> => {
      const at = faults.findIndex((one) => one.write === write);
      const [fault] = at === -1 ? [] : faults.splice(at, 1);
      if (!fault) return act();
      if (fault.isDone) await act();
      throw new ApiError(fault.reason, 'on purpose', { status: 500 });
    };
    const caller: Client['caller'] = {
      ...client.caller,
      call(asked) {
        if (!asked.path.includes(`/${namespace()}/`)) return client.caller.call(asked);
        if (asked.method === 'PATCH' && asked.path.endsWith('/status')) seen.statusWrites += 1;
        if (asked.method === 'PATCH') return unless('patch', () => client.caller.call(asked));
        if (asked.method === 'POST') return unless('create', () => client.caller.call(asked));
        return client.caller.call(asked);
      },
    };
    const create: Client['create'] = (...given) =>
      given[1].metadata.namespace === namespace()
        ? unless('create', () => client.create(...given))
        : client.create(...given);
    return { ...client, caller, create };
  };
  return { faults, seen, failing };
}
