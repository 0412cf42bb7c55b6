import { Alert, List, Stack, Table, Text, Title } from '@mantine/core';
import { type FieldProblem, problemText } from './api.ts';
import { isRecord } from './json.ts';

export interface Plan {
  operation: string;
  hash: string;
  /** Absent if the operation leaves the version of Kubernetes as it is. */
  kubeVersion?: { from?: string; to: string };
  hosts: { ip: string; name: string; duties: string[]; action: string; reclaim?: string }[];
  /** Hosts that are given back without a run. */
  release: string[];
  /** Scripts of the user that run as root. */
  hooks: { name: string; configMap: string; key: string }[];
  steps: { name: string; hosts: string[] }[];
  refusals: FieldProblem[];
  warnings: FieldProblem[];
}

/** Whether a value is a plan, as a dry run answers it. */
export const isPlan = (value: unknown): value is Plan =>
  isRecord(value) &&
  typeof value['hash'] === 'string' &&
  Array.isArray(value['hosts']) &&
  Array.isArray(value['release']) &&
  Array.isArray(value['hooks']) &&
  Array.isArray(value['steps']);

/** Shows what an operation would do: hosts, steps and warnings. */
export function PlanView({ plan }: { plan: Plan }) {
  return (
    <Stack gap="sm" aria-label="Plan" role="region">
      <Title order={3} size="h4">
        Plan
      </Title>
      {plan.kubeVersion && (
        <Text size="sm">
          Kubernetes {plan.kubeVersion.from === undefined ? '' : `${plan.kubeVersion.from} to `}
          {plan.kubeVersion.to}
        </Text>
      )}
      {plan.warnings.map(problemText).map((text) => (
        <Alert key={text} color="yellow">
          {text}
        </Alert>
      ))}
      <Table.ScrollContainer minWidth={400} mah={240}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Host</Table.Th>
              <Table.Th>Duties</Table.Th>
              <Table.Th>Action</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {plan.hosts.map(({ ip, duties, action, reclaim }) => (
              <Table.Tr key={ip}>
                <Table.Td>{ip}</Table.Td>
                <Table.Td>{duties.join(', ')}</Table.Td>
                <Table.Td>
                  {reclaim === undefined
                    ? action
                    : `${action}, after the remains of cluster ${reclaim} are wiped`}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {plan.release.length > 0 && <Text size="sm">Given back without a run: {plan.release.join(', ')}</Text>}
      {plan.hooks.map(({ name, configMap, key }) => (
        <Text key={`${name} ${configMap} ${key}`} size="sm">
          Hook {name}: ConfigMap {configMap}, {key}
        </Text>
      ))}
      <List type="ordered" size="sm" withPadding>
        {plan.steps.map(({ name, hosts }) => (
          <List.Item key={name}>
            {name}{' '}
            <Text span size="sm" c="dimmed">
              ({hosts.length} {hosts.length === 1 ? 'host' : 'hosts'})
            </Text>
          </List.Item>
        ))}
      </List>
    </Stack>
  );
}
