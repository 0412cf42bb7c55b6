import { Badge, Button, Group, Loader, SegmentedControl, Stack, Text, TextInput, Title } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useDeferredValue, useMemo, useRef, useState } from 'react';
import { Link } from 'wouter';
import { ageOf } from '#base/time-span.ts';
import { type Cluster, conditionOf, type Health, healthOf, keyOf } from './cluster.ts';
import type { Snapshot } from './clusters-store.ts';

const ROW_PX = 44;
const COLOUR: Readonly<Record<Health, string>> = { good: 'green', busy: 'blue', bad: 'red', unknown: 'gray' };
const FILTERS = [
  { value: 'all', label: 'All' },
  { value: 'busy', label: 'Busy' },
  { value: 'bad', label: 'Problems' },
] as const;
type Filter = (typeof FILTERS)[number]['value'];
const isFilter = (text: string): text is Filter => FILTERS.some(({ value }) => value === text);

const matches = (cluster: Cluster, words: readonly string[]): boolean => {
  const { metadata, status, spec } = cluster;
  const text = [
    ...[metadata.namespace, metadata.name, status?.phase, status?.version, status?.summary],
    spec.cluster.region,
  ]
    .join(' ')
    .toLowerCase();
  return words.every((word) => text.includes(word));
};

/** Lists clusters with health, search and filters. Only the rows in sight are drawn. */
export function ListPage({ snapshot }: { snapshot: Snapshot }) {
  const [search, setSearch] = useState('');
  const [filter, setFilter] = useState<Filter>('all');
  const deferred = useDeferredValue(search);
  const { clusters } = snapshot;
  const isRefused = snapshot.refusal !== undefined;
  const shown = useMemo(() => {
    const words = deferred
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== '');
    return [...clusters.values()]
      .filter((cluster) => filter === 'all' || healthOf(cluster) === filter)
      .filter((cluster) => matches(cluster, words))
      .sort((one, other) => keyOf(one).localeCompare(keyOf(other)));
  }, [clusters, filter, deferred]);
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={2}>Clusters</Title>
        <Button component={Link} href="/create">
          Create a cluster
        </Button>
      </Group>
      <Group>
        <TextInput
          aria-label="Search"
          placeholder="Search by name, phase, version…"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
          style={{ flex: 1, minWidth: '12rem' }}
        />
        <SegmentedControl
          aria-label="Filter"
          data={[...FILTERS]}
          value={filter}
          onChange={(value) => isFilter(value) && setFilter(value)}
        />
      </Group>
      <Text size="sm" role="status">
        {isRefused ? '' : snapshot.isSynced ? `${shown.length} of ${clusters.size} clusters` : 'Loading…'}
      </Text>
      {isRefused ? null : snapshot.isSynced || clusters.size > 0 ? (
        <Rows clusters={shown} />
      ) : (
        <Loader aria-label="Loading" />
      )}
    </Stack>
  );
}

/** Draws a table whose rows are placed by hand, which elements of tables do not allow; its roles are those of a table. */
function Rows({ clusters }: { clusters: readonly Cluster[] }) {
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: clusters.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
  });
  const now = Date.now();
  if (clusters.length === 0) return <Text c="dimmed">There are no such clusters.</Text>;
  return (
    <div role="table" aria-label="Clusters" aria-rowcount={clusters.length + 1}>
      <div role="row" aria-rowindex={1} className="clusters-grid clusters-head">
        {['Name', 'Namespace', 'Phase', 'Version', 'Nodes', 'Age', 'Summary'].map((head) => (
          <span role="columnheader" key={head}>
            {head}
          </span>
        ))}
      </div>
      {/* A scrolling region is reached by keyboard (WCAG 2.1.1). */}
      <div
        ref={scroller}
        role="rowgroup"
        tabIndex={0}
        style={{ height: 'calc(100vh - 300px)', overflow: 'auto' }}
      >
        <div role="presentation" style={{ height: rows.getTotalSize(), position: 'relative' }}>
          {rows.getVirtualItems().map(({ index, start }) => {
            const cluster = clusters[index];
            return (
              cluster && <Row key={keyOf(cluster)} cluster={cluster} index={index} start={start} now={now} />
            );
          })}
        </div>
      </div>
    </div>
  );
}

function Row({
  cluster,
  index,
  start,
  now,
}: {
  cluster: Cluster;
  index: number;
  start: number;
  now: number;
}) {
  const { metadata, status } = cluster;
  const { nodes } = status ?? {};
  const isReady = conditionOf(cluster, 'Ready')?.status === 'True';
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      className="clusters-grid clusters-row"
      style={{ position: 'absolute', top: 0, left: 0, right: 0, transform: `translateY(${start}px)` }}
    >
      <span role="cell" className="cut">
        <Link href={`/cluster/${metadata.namespace}/${metadata.name}`}>{metadata.name}</Link>
      </span>
      <span role="cell" className="cut">
        {metadata.namespace}
      </span>
      <span role="cell">
        <Badge color={COLOUR[healthOf(cluster)]} variant="light">
          {status?.phase || 'new'}
        </Badge>
      </span>
      <span role="cell">{status?.version ?? ''}</span>
      <span role="cell" title={isReady ? 'The cluster is ready' : 'The cluster is not ready'}>
        {nodes ? `${nodes.ready}/${nodes.total}` : ''}
      </span>
      <span role="cell">{ageOf(metadata.creationTimestamp, now)}</span>
      <span role="cell" className="cut">
        {status?.summary ?? ''}
      </span>
    </div>
  );
}
