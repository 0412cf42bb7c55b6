import { Alert, Badge, Group, Stack, Table, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { call, follow, type StreamState } from './api.ts';
import { type Cluster, pathOf } from './cluster.ts';
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

interface HostTask {
  task: string;
  event: string;
  message: string | undefined;
}

interface Progress {
  attempt: number;
  steps: string[];
  hosts: ReadonlyMap<string, HostTask>;
  end: string | undefined;
}

const NOTHING: Progress = { attempt: 1, steps: [], hosts: new Map(), end: undefined };
const BAD = new Set(['failed', 'unreachable']);

/** Returns the progress after one more event. */
function after(before: Progress, { event, attempt, step, task, host, message }: RunEvent): Progress {
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

/** Shows the steps of an operation, those to come too, and the present task of each host, live. */
export function Timeline({ cluster, operation }: { cluster: Cluster; operation: string }) {
  const [progress, setProgress] = useState(NOTHING);
  const [state, setState] = useState<StreamState>('live');
  const [refusal, setRefusal] = useState<string>();
  const [planned, setPlanned] = useState<string[]>([]);
  const record = `${pathOf(cluster)}/operations/${operation}`;
  const path = `${record}/events`;
  const { namespace } = cluster.metadata;
  useEffect(() => {
    const abort = new AbortController();
    setProgress(NOTHING);
    follow(
      path,
      { namespace },
      ({ event, data }) => {
        if (event === 'reset') setProgress(NOTHING);
        if (isRunEvent(data)) setProgress((present) => after(present, data));
      },
      setState,
      abort.signal,
    ).catch((error: unknown) => setRefusal(error instanceof Error ? error.message : String(error)));
    return () => abort.abort();
  }, [path, namespace]);
  useEffect(() => {
    const abort = new AbortController();
    call('GET', record, { query: { namespace }, signal: abort.signal }).then(
      (answer) => setPlanned(stepsIn(answer)),
      // Without its plan the operation is followed all the same.
      () => setPlanned([]),
    );
    return () => abort.abort();
  }, [record, namespace]);
  return (
    <Stack gap="sm">
      {refusal !== undefined && (
        <Alert color="red" role="alert">
          {refusal}
        </Alert>
      )}
      {state === 'interrupted' && refusal === undefined && (
        <Alert color="yellow" role="status">
          The log is interrupted. It continues when the server answers.
        </Alert>
      )}
      <Group gap={4} role="list" aria-label="Steps">
        {progress.steps.map((step, index) => (
          <Badge
            // biome-ignore lint/suspicious/noArrayIndexKey: the list only grows.
            key={`${index} ${step}`}
            role="listitem"
            variant={index === progress.steps.length - 1 && progress.end === undefined ? 'filled' : 'light'}
          >
            {step}
          </Badge>
        ))}
        {progress.end === undefined &&
          stepsAfter(planned, progress.steps).map((step) => (
            <Badge key={`later ${step}`} role="listitem" variant="default" aria-label={`${step}, not begun`}>
              {step}
            </Badge>
          ))}
      </Group>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Host</Table.Th>
            <Table.Th>Task</Table.Th>
            <Table.Th>State</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {[...progress.hosts].map(([host, { task, event, message }]) => (
            <Table.Tr key={host}>
              <Table.Td>{host}</Table.Td>
              <Table.Td>{task}</Table.Td>
              <Table.Td>
                <Text size="sm" c={BAD.has(event) ? 'red' : ''}>
                  {event === 'start' ? 'running' : event}
                  {BAD.has(event) && message ? `: ${message}` : ''}
                </Text>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {progress.hosts.size === 0 && <Text size="sm">No host has begun yet.</Text>}
    </Stack>
  );
}
