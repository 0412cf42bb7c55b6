import type { Backend } from './backends.ts';
import type { HostRules, Routes } from './compile.ts';
import { hostTable, type RouteTable, tableOf } from './table.ts';

/** By name, as JSON; null: it is none any more. */
type Changed = readonly (readonly [name: string, json: string | null])[];

/** What is another than before, for a process that serves: 10,000 routes need not pass because one changed. */
export interface RoutesUpdate {
  hosts: Changed;
  backends: Changed;
}

/** Remembers what was told, so that each update tells the rest. */
export interface UpdateMaker {
  /** Undefined: nothing has changed. */
  next(routes: Routes): RoutesUpdate | undefined;
  /** All of it, for one who begins now. */
  whole(): RoutesUpdate;
}

function changedFrom(told: Map<string, string>, present: ReadonlyMap<string, unknown>): Changed {
  const changed: (readonly [string, string | null])[] = [];
  for (const [name, value] of present) {
    const json = JSON.stringify(value);
    if (told.get(name) === json) continue;
    told.set(name, json);
    changed.push([name, json]);
  }
  for (const name of [...told.keys()]) {
    if (present.has(name)) continue;
    told.delete(name);
    changed.push([name, null]);
  }
  return changed;
}

export function createUpdateMaker(): UpdateMaker {
  const [hosts, backends] = [new Map<string, string>(), new Map<string, string>()];
  return {
    next(routes) {
      const update = {
        hosts: changedFrom(hosts, routes.hosts),
        backends: changedFrom(backends, routes.backends),
      };
      return update.hosts.length + update.backends.length > 0 ? update : undefined;
    },
    whole: () => ({ hosts: [...hosts], backends: [...backends] }),
  };
}

/** What serves: each update makes another table, which shares with the one before what has not changed. */
export interface LiveTable {
  readonly table: RouteTable;
  /** Every `address:port` of a backend. */
  endpoints(): ReadonlySet<string>;
  apply(update: RoutesUpdate): void;
}

export function createLiveTable(): LiveTable {
  let hosts: ReadonlyMap<string, ReturnType<typeof hostTable>> = new Map();
  let backends: ReadonlyMap<string, Backend> = new Map();
  let table = tableOf(hosts, backends);
  return {
    get table() {
      return table;
    },
    endpoints: () => new Set([...backends.values()].flatMap(({ endpoints }) => endpoints)),
    apply(update) {
      hosts = applied(hosts, update.hosts, (json) => {
        const rules: HostRules = JSON.parse(json);
        return hostTable(rules);
      });
      backends = applied(backends, update.backends, (json): Backend => JSON.parse(json));
      table = tableOf(hosts, backends);
    },
  };
}

function applied<T>(before: ReadonlyMap<string, T>, changed: Changed, parse: (json: string) => T) {
  if (changed.length === 0) return before;
  const after = new Map(before);
  for (const [name, json] of changed) {
    if (json === null) after.delete(name);
    else after.set(name, parse(json));
  }
  return after;
}
