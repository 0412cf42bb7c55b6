import { useEffect, useState } from 'react';
import { call, follow, type StreamState } from './api.ts';
import { type Cluster, type Operation, pathOf } from './cluster.ts';
import { at, isRecord } from './json.ts';

interface RunEvent {
  event: string;
  attempt: number;
  step?: string;
  task?: string;
  host?: string;
  seconds?: number;
  message?: string;
}

const isRunEvent = (value: unknown): value is RunEvent =>
  typeof value === 'object' && value !== null && 'event' in value && 'attempt' in value;

export interface HostTask {
  task: string;
  event: string;
  message: string | undefined;
}

/** What the log of an operation says so far. */
interface Said {
  attempt: number;
  steps: string[];
  hosts: ReadonlyMap<string, HostTask>;
  end: string | undefined;
}

const NOTHING: Said = { attempt: 1, steps: [], hosts: new Map(), end: undefined };

/** Returns the progress after one more event. */
function after(before: Said, { event, attempt, step, task, host, message }: RunEvent): Said {
  if (event === 'end') return { ...before, end: message };
  // A new attempt begins with the first step.
  const progress = attempt > before.attempt ? { ...NOTHING, attempt } : before;
  if (event === 'play' && step !== undefined) return { ...progress, steps: [...progress.steps, step] };
  if (host === undefined || task === undefined) return progress;
  return { ...progress, hosts: new Map(progress.hosts).set(host, { task, event, message }) };
}

/** Returns the names of the steps of a plan, from the record of its operation. */
function stepsIn(answer: unknown): string[] {
  const steps = at(at(answer, 'plan'), 'steps');
  return (Array.isArray(steps) ? steps : [])
    .filter(isRecord)
    .flatMap(({ name }) => (typeof name === 'string' ? [name] : []));
}

/** Returns the steps after the last one that has begun. Playbooks of the user are not in the plan's steps. */
function stepsAfter(planned: readonly string[], begun: readonly string[]): string[] {
  const last = Math.max(-1, ...begun.map((step) => planned.lastIndexOf(step)));
  return planned.slice(last + 1);
}

export interface Progress extends Said {
  /** Steps of the plan that have not begun. */
  later: readonly string[];
  stream: StreamState;
  /** Why the server does not show the log. */
  refusal: string | undefined;
}

/** Step of an operation that is accepted. Its record is written before the next one. */
const ACCEPTED = 'starting';

/** Follows the log of an operation; of none if it is `undefined`. */
export function useProgress(cluster: Cluster, operation: Operation | undefined): Progress {
  const [said, setSaid] = useState(NOTHING);
  const [stream, setStream] = useState<StreamState>('live');
  const [refusal, setRefusal] = useState<string>();
  const [planned, setPlanned] = useState<readonly string[]>([]);
  const { namespace } = cluster.metadata;
  const record = operation && `${pathOf(cluster)}/operations/${operation.id}`;
  const isRecorded = operation !== undefined && operation.step !== ACCEPTED;
  useEffect(() => {
    setSaid(NOTHING);
    setStream('live');
    setRefusal(undefined);
    if (record === undefined) return;
    const abort = new AbortController();
    follow(
      `${record}/events`,
      { namespace },
      ({ event, data }) => {
        if (event === 'reset') setSaid(NOTHING);
        if (isRunEvent(data)) setSaid((present) => after(present, data));
      },
      setStream,
      abort.signal,
    ).catch((error: unknown) => setRefusal(error instanceof Error ? error.message : String(error)));
    return () => abort.abort();
  }, [record, namespace]);
  useEffect(() => {
    setPlanned([]);
    if (record === undefined || !isRecorded) return;
    const abort = new AbortController();
    call('GET', record, { query: { namespace }, signal: abort.signal }).then(
      (answer) => setPlanned(stepsIn(answer)),
      // Without its plan the operation is followed all the same.
      () => {},
    );
    return () => abort.abort();
  }, [record, namespace, isRecorded]);
  return { ...said, later: said.end === undefined ? stepsAfter(planned, said.steps) : [], stream, refusal };
}
