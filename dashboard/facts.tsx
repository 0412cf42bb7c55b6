import { Button, Table, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { ageOf, spanOf } from '#base/time-span.ts';
import { call } from './api.ts';
import { type Cluster, pathOf, regionOf } from './cluster.ts';

/** Time for which a kubeconfig of the page is valid. */
const KUBECONFIG_SECONDS = '3600';

/** Gives a kubeconfig of the user's own name and rights, which ends by itself. */
function Kubeconfig({ cluster }: { cluster: Cluster }) {
  const { namespace, name } = cluster.metadata;
  const [refusal, setRefusal] = useState<string>();
  const download = async (): Promise<void> => {
    setRefusal(undefined);
    try {
      const query = { namespace, expirationSeconds: KUBECONFIG_SECONDS };
      const text = String(await call('GET', `${pathOf(cluster)}/kubeconfig`, { query }));
      const link = document.createElement('a');
      link.href = URL.createObjectURL(new Blob([text], { type: 'application/yaml' }));
      link.download = `${name}.kubeconfig`;
      link.click();
      URL.revokeObjectURL(link.href);
    } catch (error) {
      setRefusal(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <>
      <Button size="xs" variant="default" onClick={download}>
        Download a kubeconfig for one hour
      </Button>
      {refusal !== undefined && (
        <Text size="sm" c="red" role="alert">
          {refusal}
        </Text>
      )}
    </>
  );
}

/** Shows where a cluster is, how old its parts are, and how to reach it. */
export function Facts({ cluster }: { cluster: Cluster }) {
  const now = Date.now();
  const { metadata, status } = cluster;
  const expire = status?.certificatesExpire;
  const left = expire === undefined ? Number.NaN : Date.parse(expire) - now;
  const [newest] = status?.etcdSnapshots?.stored ?? [];
  const facts: [string, ReactNode][] = [
    ['Namespace', metadata.namespace],
    ['Region', regionOf(cluster)],
    ['Age', ageOf(metadata.creationTimestamp, now)],
    [
      'Certificates',
      Number.isNaN(left) ? '' : left < 0 ? `expired ${spanOf(-left)} ago` : `expire in ${spanOf(left)}`,
    ],
    ['Newest snapshot', newest ? `${newest.name}, ${ageOf(newest.createdAt, now)} ago` : 'none'],
    ['Kubeconfig', <Kubeconfig key="kubeconfig" cluster={cluster} />],
  ];
  return (
    <Table variant="vertical" maw={600}>
      <Table.Tbody>
        {facts
          .filter(([, value]) => value !== '')
          .map(([name, value]) => (
            <Table.Tr key={name}>
              <Table.Th w={180}>{name}</Table.Th>
              <Table.Td>{value}</Table.Td>
            </Table.Tr>
          ))}
      </Table.Tbody>
    </Table>
  );
}
