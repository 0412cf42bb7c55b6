import { Alert, Badge, Group, Stack, Table, Text } from '@mantine/core';
import type { Progress } from './use-progress.ts';

const BAD = new Set(['failed', 'unreachable']);

/** Shows the steps of an operation, those to come too, and the present task of each host, live. */
export function Timeline({ progress }: { progress: Progress }) {
  const { steps, later, hosts, end, stream, refusal } = progress;
  return (
    <Stack gap="sm">
      {refusal !== undefined && (
        <Alert color="red" role="alert">
          {refusal}
        </Alert>
      )}
      {stream === 'interrupted' && refusal === undefined && (
        <Alert color="yellow" role="status">
          The log is interrupted. It continues when the server answers.
        </Alert>
      )}
      <Group gap={4} role="list" aria-label="Steps">
        {steps.map((step, index) => (
          <Badge
            // biome-ignore lint/suspicious/noArrayIndexKey: the list only grows.
            key={`${index} ${step}`}
            role="listitem"
            variant={index === steps.length - 1 && end === undefined ? 'filled' : 'light'}
          >
            {step}
          </Badge>
        ))}
        {later.map((step) => (
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
          {[...hosts].map(([host, { task, event, message }]) => (
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
      {hosts.size === 0 && <Text size="sm">No host has begun yet.</Text>}
    </Stack>
  );
}
