import { z } from 'zod';
import { DUTIES } from '#api/cluster-host.ts';
import { HOST_STATES } from '#api/host-record.ts';
import { CLUSTER_PATH, clusterPath, NO_BODY, strictNamespaceQuery } from './addressing.ts';
import { route } from './route.ts';

const hostSchema = z
  .object({
    ip: z.string().meta({ description: 'Address, canonical: who the host is.' }),
    cluster: z.string().meta({ description: 'namespace/name of the cluster that it belongs to.' }),
    name: z.string().meta({ description: 'Name of its node.' }),
    duties: z.array(z.enum(DUTIES)).meta({ description: 'Duties of the host.' }),
    state: z.enum(HOST_STATES).meta({ description: 'How it stands.' }),
    versions: z
      .record(z.string(), z.string())
      .optional()
      .meta({ description: 'What runs there, as it was last seen.' }),
    lastRun: z
      .object({
        operation: z.string().meta({ description: 'Name of the operation.' }),
        did: z.array(z.string()).meta({ description: 'What was achieved there.' }),
        ok: z.boolean().meta({ description: 'Whether the host was as the operation wanted it.' }),
        message: z.string().optional().meta({ description: 'Why it was not.' }),
        at: z.string().meta({ description: 'When (RFC 3339).' }),
      })
      .optional()
      .meta({ description: 'What the last operation said of it.' }),
  })
  .meta({ id: 'Host' });
export type HostAnswer = z.infer<typeof hostSchema>;

const hostPage = z
  .object({
    items: z.array(hostSchema).meta({ description: 'In the order of addresses as text.' }),
    continue: z.string().optional().meta({ description: 'Send it back to get the next page.' }),
  })
  .meta({ id: 'HostList' });

const item: HostAnswer = {
  ip: '192.0.2.12',
  cluster: 'default/demo',
  name: 'host-192-0-2-12',
  duties: ['worker'],
  state: 'Joined',
};

export const listHosts = route({
  operationId: 'listHosts',
  method: 'GET',
  path: '/hosts',
  summary: 'List every host that belongs to a cluster, page by page',
  description: 'Needs the right to list Host records in the operator’s namespace.',
  params: z.object({}),
  query: z.strictObject({
    limit: z.coerce
      .number()
      .int()
      .min(1)
      .max(500)
      .default(100)
      .meta({ description: 'The most hosts of a page.' }),
    continue: z
      .string()
      .max(4096)
      .optional()
      .meta({ description: 'The value of the last page; one that is too old is 410.' }),
  }),
  body: NO_BODY,
  answer: hostPage,
  lenient: false,
  errors: [410],
  example: { params: {}, answer: { items: [item] } },
});

export const listClusterHosts = route({
  operationId: 'listClusterHosts',
  method: 'GET',
  path: `${CLUSTER_PATH}/hosts`,
  summary: 'The hosts of a cluster',
  description: 'Hosts that it has, hosts that it takes, and hosts that could not be reset.',
  params: clusterPath,
  query: strictNamespaceQuery,
  body: NO_BODY,
  answer: hostPage,
  lenient: false,
  errors: [404],
  example: { params: { region: 'north', name: 'demo' }, answer: { items: [item] } },
});
