import { Badge, Card, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useEffect, useState } from 'react';
import { call } from './api.ts';
import { type Cluster, type HostView, hostsOf, pathOf } from './cluster.ts';
import { at, isRecord } from './json.ts';
import type { HostTask } from './use-progress.ts';

/** Returns what runs on each host, by address: `containerd v2.1.5, kubelet v1.35.4`. */
function versionsIn(answer: unknown): ReadonlyMap<string, string> {
  const items = at(answer, 'items');
  return new Map(
    (Array.isArray(items) ? items : []).filter(isRecord).flatMap(({ ip, versions }) => {
      const all = Object.entries(isRecord(versions) ? versions : {}).map((entry) => entry.join(' '));
      return typeof ip === 'string' && all.length > 0 ? [[ip, all.join(', ')] as const] : [];
    }),
  );
}

const GROUPS = ['control plane', 'etcd', 'worker'] as const;

/** Reads what runs on each host, again after each operation. */
function useVersions(cluster: Cluster): ReadonlyMap<string, string> {
  const [versions, setVersions] = useState<ReadonlyMap<string, string>>(new Map());
  const path = `${pathOf(cluster)}/hosts`;
  const { namespace } = cluster.metadata;
  const { id, result } = cluster.status?.operation ?? {};
  // biome-ignore lint/correctness/useExhaustiveDependencies: versions change with operations.
  useEffect(() => {
    const abort = new AbortController();
    call('GET', path, { query: { namespace }, signal: abort.signal }).then(
      (answer) => setVersions(versionsIn(answer)),
      // The cards are shown without versions.
      () => {},
    );
    return () => abort.abort();
  }, [path, namespace, id, result]);
  return versions;
}

/** Draws the hosts by their first duty, each with the task of the running operation. */
export function Hosts({ cluster, tasks }: { cluster: Cluster; tasks: ReadonlyMap<string, HostTask> }) {
  const hosts = hostsOf(cluster);
  const versions = useVersions(cluster);
  return (
    <Stack>
      {GROUPS.map((duty) => {
        const of = hosts.filter((host) => host.duties[0] === duty);
        return (
          of.length > 0 && (
            <div key={duty}>
              <Title order={3} size="h5" mb="xs">
                {duty === 'worker' ? 'Workers' : duty === 'etcd' ? 'etcd' : 'Control planes'} ({of.length})
              </Title>
              <SimpleGrid
                cols={{ base: 1, xs: 2, md: 4 }}
                component="ul"
                style={{ listStyle: 'none', padding: 0 }}
              >
                {of.map((host) => (
                  <HostCard
                    key={host.ip}
                    host={host}
                    versions={versions.get(host.ip)}
                    task={tasks.get(host.ip)}
                  />
                ))}
              </SimpleGrid>
            </div>
          )
        );
      })}
    </Stack>
  );
}

function HostCard({
  host: { ip, name, duties, state, message },
  versions,
  task,
}: {
  host: HostView;
  versions: string | undefined;
  task: HostTask | undefined;
}) {
  return (
    <Card withBorder component="li" padding="sm">
      <Text fw={600} className="cut">
        {name}
      </Text>
      <Text size="sm">{ip}</Text>
      <Group gap={4} mt={4}>
        {duties.map((duty) => (
          <Badge key={duty} size="xs" variant="default">
            {duty}
          </Badge>
        ))}
        {state !== '' && (
          <Badge size="xs" color="orange" variant="light">
            {state}
          </Badge>
        )}
      </Group>
      {versions !== undefined && (
        <Text size="xs" mt={4}>
          {versions}
        </Text>
      )}
      {task?.event === 'start' && (
        <Text size="xs" mt={4}>
          Task: {task.task}
        </Text>
      )}
      {message !== undefined && (
        <Text size="xs" mt={4}>
          {message}
        </Text>
      )}
    </Card>
  );
}
