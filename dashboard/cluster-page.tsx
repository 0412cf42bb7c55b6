import {
  Alert,
  Anchor,
  Breadcrumbs,
  Button,
  Card,
  Group,
  Menu,
  Stack,
  Table,
  Tabs,
  Text,
  Title,
} from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { Link } from 'wouter';
import { ageOf } from '#base/time-span.ts';
import { call } from './api.ts';
import { type Cluster, conditionOf, pathOf, runningOf } from './cluster.ts';
import type { Snapshot } from './clusters-store.ts';
import { Facts } from './facts.tsx';
import { History } from './history.tsx';
import { Hosts } from './hosts.tsx';
import { OperationForm } from './operation-form.tsx';
import { CHANGES, type OperationKind } from './operation-request.ts';
import { titleOf } from './operation-titles.ts';
import { Timeline } from './timeline.tsx';
import { useNow } from './use-now.ts';
import { useProgress } from './use-progress.ts';

/** What a user does next, by the reason of condition Stalled. */
const NEXT: Readonly<Record<string, string>> = {
  OperationFailed: 'Read the log, correct the cause, then choose Retry.',
  Cancelled: 'Choose Retry to continue the operation.',
  Paused: 'Choose Resume.',
  NeedsConfirmation: 'Request the operation that the message names.',
  CredentialsMissing: 'Create the Secret with the SSH key.',
};

export function ClusterPage({ id, snapshot }: { id: string; snapshot: Snapshot }) {
  const cluster = snapshot.clusters.get(id);
  const wasSeen = useRef(false);
  useEffect(() => {
    if (cluster) wasSeen.current = true;
  }, [cluster]);
  if (!cluster)
    return (
      <Stack>
        <Title order={2}>{id}</Title>
        <Text role="status">
          {!snapshot.isSynced
            ? 'Loading…'
            : wasSeen.current
              ? 'The cluster is deleted.'
              : 'There is no such cluster, or you may not see it.'}
        </Text>
        <Anchor component={Link} href="/">
          All clusters
        </Anchor>
      </Stack>
    );
  return <Details cluster={cluster} />;
}

function Details({ cluster }: { cluster: Cluster }) {
  const { metadata, status } = cluster;
  const running = runningOf(cluster);
  const progress = useProgress(cluster, running);
  const stalled = conditionOf(cluster, 'Stalled');
  return (
    <Stack>
      <Breadcrumbs>
        <Anchor component={Link} href="/">
          Clusters
        </Anchor>
        <Text>{metadata.namespace}</Text>
      </Breadcrumbs>
      <Group justify="space-between" align="flex-start">
        <div>
          <Title order={2}>{metadata.name}</Title>
          <Text size="sm">
            {status?.phase || 'new'}
            {status?.version ? `, Kubernetes ${status.version}` : ''}
            {status?.nodes ? `, ${status.nodes.ready} of ${status.nodes.total} nodes ready` : ''}
          </Text>
        </div>
        <Actions cluster={cluster} />
      </Group>
      {stalled?.status === 'True' && (
        <Alert color="red" role="alert" title={stalled.reason}>
          <Text size="sm">{stalled.message}</Text>
          {NEXT[stalled.reason] !== undefined && <Text size="sm">{NEXT[stalled.reason]}</Text>}
        </Alert>
      )}
      {running && (
        <Card withBorder>
          <Title order={3} size="h4">
            {titleOf(running.name)}, running for <Since time={running.startedAt} />
          </Title>
          <Text size="sm" mb="sm">
            Step: {running.step}
            {running.requestedBy ? `. Requested by ${running.requestedBy}` : ''}
          </Text>
          <Timeline progress={progress} />
        </Card>
      )}
      <Tabs defaultValue="hosts" keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="hosts">Hosts</Tabs.Tab>
          <Tabs.Tab value="conditions">Conditions</Tabs.Tab>
          <Tabs.Tab value="history">History</Tabs.Tab>
          <Tabs.Tab value="facts">Facts</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="hosts" pt="md">
          <Hosts cluster={cluster} tasks={progress.hosts} />
        </Tabs.Panel>
        <Tabs.Panel value="conditions" pt="md">
          <Conditions cluster={cluster} />
        </Tabs.Panel>
        <Tabs.Panel value="history" pt="md">
          <History cluster={cluster} />
        </Tabs.Panel>
        <Tabs.Panel value="facts" pt="md">
          <Facts cluster={cluster} />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}

/** Shows how long ago a time was, and counts on. */
function Since({ time }: { time: string }) {
  return ageOf(time, useNow());
}

/** Buttons for operations. Each opens a form that shows the plan before anything begins. */
function Actions({ cluster }: { cluster: Cluster }) {
  const [form, setForm] = useState<OperationKind>();
  const [refusal, setRefusal] = useState<string>();
  const { namespace } = cluster.metadata;
  const running = runningOf(cluster);
  const isPaused = cluster.spec.paused === true;
  const steer = (verb: 'pause' | 'resume' | 'cancel') => async () => {
    try {
      setRefusal(undefined);
      await call('POST', `${pathOf(cluster)}/${verb}`, {
        query: { namespace },
        body: verb === 'cancel' ? { id: running?.id } : {},
      });
    } catch (error) {
      setRefusal(error instanceof Error ? error.message : String(error));
    }
  };
  const hasFailed =
    cluster.status?.operation?.result === 'failed' || cluster.status?.operation?.result === 'cancelled';
  return (
    <Stack gap="xs" align="flex-end">
      <Group gap="xs">
        {running && (
          <Button variant="default" onClick={steer('cancel')}>
            Cancel
          </Button>
        )}
        {hasFailed && (
          <Button variant="default" onClick={() => setForm('retry')}>
            Retry
          </Button>
        )}
        <Button variant="default" onClick={steer(isPaused ? 'resume' : 'pause')}>
          {isPaused ? 'Resume' : 'Pause'}
        </Button>
        <Menu>
          <Menu.Target>
            <Button disabled={running !== undefined}>Change</Button>
          </Menu.Target>
          <Menu.Dropdown>
            {CHANGES.map(({ kind, title }) => (
              <Menu.Item key={kind} onClick={() => setForm(kind)}>
                {title}
              </Menu.Item>
            ))}
            <Menu.Divider />
            <Menu.Item color="red" onClick={() => setForm('delete')}>
              Delete
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </Group>
      {running && (
        <Text size="xs" c="dimmed">
          {titleOf(running.name)} runs{running.requestedBy ? `, requested by ${running.requestedBy}` : ''}.
          You can change the cluster when it ends.
        </Text>
      )}
      {refusal !== undefined && (
        <Alert color="red" role="alert">
          {refusal}
        </Alert>
      )}
      {form && <OperationForm kind={form} cluster={cluster} onClose={() => setForm(undefined)} />}
    </Stack>
  );
}

function Conditions({ cluster }: { cluster: Cluster }) {
  const now = Date.now();
  return (
    <Table.ScrollContainer minWidth={600}>
      <Table>
        <Table.Thead>
          <Table.Tr>
            {['Condition', 'Status', 'Reason', 'Since', 'Message'].map((head) => (
              <Table.Th key={head}>{head}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {(cluster.status?.conditions ?? []).map(({ type, status, reason, lastTransitionTime, message }) => (
            <Table.Tr key={type}>
              <Table.Td>{type}</Table.Td>
              <Table.Td>{status}</Table.Td>
              <Table.Td>{reason}</Table.Td>
              <Table.Td>{ageOf(lastTransitionTime, now)}</Table.Td>
              <Table.Td>{message}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
