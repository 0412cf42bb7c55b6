import { Alert, Button, Table, Text, TextInput } from '@mantine/core';
import { useEffect, useState } from 'react';
import { ageOf } from '#base/time-span.ts';
import { call } from './api.ts';
import { type Cluster, pathOf } from './cluster.ts';
import { Dialog } from './dialog.tsx';
import { isRecord } from './json.ts';
import { titleOf } from './operation-titles.ts';

interface Entry {
  id: string;
  operation: string;
  result: string;
  startedAt: string;
  endedAt?: string;
  requestedBy?: string;
  message?: string;
}

const isEntry = (value: unknown): value is Entry =>
  isRecord(value) && typeof value['id'] === 'string' && typeof value['operation'] === 'string';
const entriesIn = (answer: unknown): Entry[] =>
  isRecord(answer) && Array.isArray(answer['items']) ? answer['items'].filter(isEntry) : [];
const messageIn = (answer: unknown): string => (isRecord(answer) ? String(answer['message'] ?? '') : '');

/** Lists the last operations; a button opens the log of each. */
export function History({ cluster }: { cluster: Cluster }) {
  const [entries, setEntries] = useState<Entry[]>();
  const [refusal, setRefusal] = useState<string>();
  const [open, setOpen] = useState<Entry>();
  const path = pathOf(cluster);
  const { namespace } = cluster.metadata;
  const last = cluster.status?.operation;
  // A new list is read when an operation begins or ends.
  const version = `${last?.id} ${last?.result}`;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version stands for changes of the list.
  useEffect(() => {
    const abort = new AbortController();
    call('GET', `${path}/operations`, { query: { namespace }, signal: abort.signal }).then(
      (answer) => {
        setRefusal(undefined);
        setEntries(entriesIn(answer));
      },
      (error: unknown) => abort.signal.aborted || setRefusal(String(error)),
    );
    return () => abort.abort();
  }, [path, namespace, version]);
  const now = Date.now();
  if (refusal !== undefined) return <Alert color="red">{refusal}</Alert>;
  if (!entries) return <Text role="status">Loading…</Text>;
  if (entries.length === 0) return <Text>There is no record of an operation.</Text>;
  return (
    <>
      <Table.ScrollContainer minWidth={600}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              {['Operation', 'Result', 'Began', 'Took', 'Requested by', 'Message', 'Log'].map((head) => (
                <Table.Th key={head}>{head}</Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {entries.map((entry) => (
              <Table.Tr key={entry.id}>
                <Table.Td>{titleOf(entry.operation)}</Table.Td>
                <Table.Td>{entry.result}</Table.Td>
                <Table.Td>{ageOf(entry.startedAt, now)} ago</Table.Td>
                <Table.Td>{entry.endedAt ? ageOf(entry.startedAt, Date.parse(entry.endedAt)) : ''}</Table.Td>
                <Table.Td>{entry.requestedBy ?? ''}</Table.Td>
                <Table.Td>{entry.message ?? ''}</Table.Td>
                <Table.Td>
                  <Button
                    size="xs"
                    variant="default"
                    aria-label={`Log of ${titleOf(entry.operation)}, ${entry.id}`}
                    onClick={() => setOpen(entry)}
                  >
                    Log
                  </Button>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {open && (
        <LogDialog path={path} namespace={namespace} entry={open} onClose={() => setOpen(undefined)} />
      )}
    </>
  );
}

function LogDialog({
  path,
  namespace,
  entry,
  onClose,
}: {
  path: string;
  namespace: string;
  entry: Entry;
  onClose: () => void;
}) {
  const [text, setText] = useState<string>();
  const [search, setSearch] = useState('');
  useEffect(() => {
    const abort = new AbortController();
    call('GET', `${path}/operations/${entry.id}/logs`, { query: { namespace }, signal: abort.signal }).then(
      (answer) => setText(messageIn(answer)),
      (error: unknown) => abort.signal.aborted || setText(String(error)),
    );
    return () => abort.abort();
  }, [path, namespace, entry.id]);
  const wanted = search.toLowerCase();
  const lines = (text ?? '').split('\n').filter((line) => line.toLowerCase().includes(wanted));
  return (
    <Dialog onClose={onClose} size="xl" title={`Log of ${titleOf(entry.operation)}, ${entry.id}`}>
      <TextInput
        aria-label="Search in the log"
        placeholder="Search in the log"
        value={search}
        onChange={(event) => setSearch(event.currentTarget.value)}
        mb="sm"
      />
      <pre className="log">{text === undefined ? 'Loading…' : lines.join('\n')}</pre>
    </Dialog>
  );
}
