import { PassThrough, type Readable } from 'node:stream';
import type { KubeObject } from '#api/meta.ts';
import { isKubeObject } from '#runtime/client/expect-object.ts';
import { ApiError } from '#runtime/wire/api-error.ts';
import type { ApiRequest, Caller } from '#runtime/wire/call.ts';
import { pathWithin } from '../worlds/one-namespace.ts';
import type { Fault, Step } from './plan.ts';
import { partsOf, pointOf } from './points.ts';
import type { Quiet } from './quiet.ts';

/** A call of the controller and its result. */
export interface Call {
  step: Step;
  point: string;
  nth: number;
  write: boolean;
  /** Whether the API server carried it out, whatever the controller got as response. */
  done: boolean;
  /** For reads: whether the object was found, and whether an older version of it is known. */
  found: boolean;
  older: boolean;
}

/** State that all controllers of one plan share. */
export interface Meddler {
  readonly calls: readonly Call[];
  /** Faults that the run reached. */
  readonly met: ReadonlySet<Fault>;
  step: Step;
  /** Records a write of any client: the versions that a stale read may return. */
  note(path: string, object: KubeObject): void;
  /** Returns the caller of one controller. After `die`, its calls fail. */
  callerFor(process: { alive: boolean; die(): void }): Caller;
}

interface MeddlerDeps {
  inner: Caller;
  quiet: Quiet;
  faults: readonly Fault[];
  /** The only namespace whose clusters the controller sees. */
  namespace: string;
}

const dead = () => new ApiError('Connection', 'this process is dead', { status: 0 });

/** Sits between controllers and the API server, counts their calls, and injects the faults of the plan. */
export function createMeddler({ inner, quiet, faults, namespace }: MeddlerDeps): Meddler {
  const calls: Call[] = [];
  const counts = new Map<string, number>();
  const met = new Set<Fault>();
  const versions = new Map<string, KubeObject[]>();
  const gates = new Map<string, Set<(open: boolean) => void>>();
  const held = new Set<string>();

  const hold = (plural: string, open: boolean) => {
    if (open) held.delete(plural);
    else held.add(plural);
    for (const gate of gates.get(plural) ?? []) gate(open);
  };
  quiet.onStandstill(() => {
    const some = held.size > 0;
    for (const plural of [...held]) hold(plural, true);
    return some;
  });

  const meddler: Meddler & { step: Step } = {
    calls,
    met,
    step: 'create',
    note(path, object) {
      const known = versions.get(path) ?? [];
      if (known.at(-1)?.metadata.resourceVersion !== object.metadata.resourceVersion) known.push(object);
      versions.set(path, known);
    },
    callerFor(process) {
      return { call: (request) => call(process, request), stream, close: async () => {} };

      async function stream(request: ApiRequest): Promise<Readable> {
        if (!process.alive) throw dead();
        const path = pathWithin(namespace, request.path);
        return gated(partsOf(path).plural, await inner.stream({ ...request, path }));
      }
    },
  };

  /**
   * Wraps the body of a watch so that it can be held back. A new watch is not held back: a new controller starts from it.
   */
  function gated(plural: string, body: Readable): Readable {
    const out = new PassThrough();
    const waiting: (() => void)[] = [];
    let open = true;
    const gate = (now: boolean) => {
      open = now;
      if (open) for (const go of waiting.splice(0)) go();
    };
    const mine = gates.get(plural) ?? new Set();
    gates.set(plural, mine.add(gate));
    const pass = (go: () => void) => (open ? go() : waiting.push(go));
    body.on('data', (chunk: unknown) => pass(() => out.write(chunk)));
    body.once('end', () => pass(() => out.end()));
    body.once('error', (error) => out.destroy(error));
    body.once('close', () => {
      mine.delete(gate);
      pass(() => out.end());
    });
    out.once('close', () => body.destroy());
    return out;
  }

  async function call(process: { alive: boolean; die(): void }, request: ApiRequest): Promise<unknown> {
    if (!process.alive) throw dead();
    const point = pointOf(request);
    const id = `${meddler.step}:${point}`;
    const nth = (counts.get(id) ?? 0) + 1;
    counts.set(id, nth);
    const write = request.method !== 'GET';
    const made: Call = { step: meddler.step, point, nth, write, done: false, found: false, older: false };
    calls.push(made);
    const fault = faults.find((one) => one.step === made.step && one.point === point && one.nth === nth);
    if (fault) met.add(fault);
    const end = quiet.begin();
    try {
      return await (write
        ? writeWith(fault, made, process, request)
        : readWith(fault, made, process, request));
    } finally {
      end();
    }
  }

  async function writeWith(
    fault: Fault | undefined,
    made: Call,
    process: { alive: boolean; die(): void },
    request: ApiRequest,
  ): Promise<unknown> {
    if (fault?.kind === 'crash-before') {
      process.die();
      throw dead();
    }
    if (fault?.kind === 'conflict')
      throw new ApiError('Conflict', `${made.point}: someone was faster`, { status: 409 });
    if (fault?.kind === 'error-before')
      throw new ApiError('InternalError', `${made.point}: not done`, { status: 500 });
    if (fault?.kind === 'lag') hold(partsOf(request.path).plural, false);
    const answer = await inner.call(request);
    made.done = true;
    if (isKubeObject(answer) && answer.metadata.resourceVersion) {
      const { plural, name } = partsOf(request.path);
      const base = request.path.slice(0, request.path.indexOf(plural) + plural.length);
      meddler.note(`${base}/${name || (answer.metadata.name ?? '')}`, answer);
      quiet.expect(answer);
    } else if (request.method === 'DELETE') {
      const { plural, name, namespace: within } = partsOf(request.path);
      quiet.expectGone(plural, { namespace: within, name });
    }
    if (!process.alive) throw dead();
    if (fault?.kind === 'crash-after') {
      process.die();
      throw dead();
    }
    if (fault?.kind === 'error-after')
      throw new ApiError('InternalError', `${made.point}: done, but said not to be`, { status: 500 });
    if (fault?.kind === 'lost') throw new ApiError('Connection', `${made.point}: no answer`, { status: 0 });
    return answer;
  }

  async function readWith(
    fault: Fault | undefined,
    made: Call,
    process: { alive: boolean; die(): void },
    request: ApiRequest,
  ): Promise<unknown> {
    const path = pathWithin(namespace, request.path);
    const known = versions.get(path) ?? [];
    const answer = await inner.call({ ...request, path }).catch((error: unknown) => {
      made.older = known.length > 0;
      if (fault?.kind === 'stale' && known.length > 0) return structuredClone(known.at(-1));
      throw error;
    });
    if (!process.alive) throw dead();
    made.found = !isList(answer) || answer.items.length > 0;
    if (isKubeObject(answer) && !isList(answer)) {
      meddler.note(path, structuredClone(answer));
      made.older = (versions.get(path)?.length ?? 0) > 1;
      if (fault?.kind === 'stale') return structuredClone(versions.get(path)?.at(-2) ?? answer);
    }
    if (fault?.kind !== 'absent') return answer;
    if (isList(answer)) return { ...answer, items: [] };
    throw new ApiError('NotFound', `${made.point}: not shown`, { status: 404 });
  }

  return meddler;
}

function isList(value: unknown): value is { items: unknown[] } {
  return typeof value === 'object' && value !== null && 'items' in value && Array.isArray(value.items);
}
