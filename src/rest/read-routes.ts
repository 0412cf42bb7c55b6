import { z } from 'zod';
import {
  CLUSTER_PATH,
  clusterPath,
  NO_BODY,
  nameSchema,
  namespaceSchema,
  strictNamespaceQuery,
} from './addressing.ts';
import { clusterObject, clusterPage, exampleCluster, okSchema, snapshotList } from './answers.ts';
import { route } from './route.ts';

const PAGE = 100;
const params = { region: 'north', name: 'demo' };

export const getCluster = route({
  operationId: 'getCluster',
  method: 'GET',
  path: CLUSTER_PATH,
  summary: 'Look at a cluster',
  description: 'The object as it is stored, without credentials.',
  params: clusterPath,
  query: strictNamespaceQuery,
  body: NO_BODY,
  answer: clusterObject,
  lenient: false,
  errors: [404],
  example: { params, answer: exampleCluster },
});

export const listSnapshots = route({
  operationId: 'listSnapshots',
  method: 'GET',
  path: `${CLUSTER_PATH}/snapshots`,
  summary: 'List the snapshots of a cluster',
  description: 'The snapshots of etcd in the storage when the last one was saved, the newest first.',
  params: clusterPath,
  query: strictNamespaceQuery,
  body: NO_BODY,
  answer: snapshotList,
  lenient: false,
  errors: [404],
  example: {
    params,
    answer: {
      items: [{ name: '20261129t020000z-7', createdAt: '2026-11-29T02:00:00.000Z', size: 8_421_376 }],
    },
  },
});

export const listClusters = route({
  operationId: 'listClusters',
  method: 'GET',
  path: '/clusters',
  summary: 'List clusters, page by page',
  description: 'Clusters of one namespace, or of all.',
  params: z.object({}),
  query: z.strictObject({
    namespace: namespaceSchema.optional().meta({ description: 'Default: all namespaces.' }),
    name: nameSchema.optional().meta({ description: 'Only the clusters of this name, of any region.' }),
    labelSelector: z
      .string()
      .max(4096)
      .optional()
      .meta({ description: 'Only clusters with these labels, as kubectl -l takes them.' }),
    limit: z.coerce
      .number()
      .int()
      .min(1)
      .max(500)
      .default(PAGE)
      .meta({ description: 'The most clusters of a page.' }),
    continue: z
      .string()
      .max(4096)
      .regex(/^[A-Za-z0-9_=-]*$/, { error: 'is not what a page said' })
      .optional()
      .meta({ description: 'The value of the last page; one that is too old is 410.' }),
  }),
  body: NO_BODY,
  answer: clusterPage,
  lenient: false,
  errors: [410],
  example: { params: {}, answer: { items: [exampleCluster] } },
});

/** Last line of a followed log whose server cannot continue, for example because it is replaced. */
export const BROKEN_OFF = '--- the log breaks off here; ask again';

/** Trailer of a followed log, which no line of a host can imitate. */
export const LOG_END_TRAILER = 'matryoshka-log-end';
export type LogEnd = 'complete' | 'broken-off';

export const getLogs = route({
  operationId: 'getLogs',
  method: 'GET',
  path: `${CLUSTER_PATH}/logs`,
  summary: 'The log of the present or last operation',
  description:
    'In the envelope, its last MiB; with `follow=true` or `Accept: text/plain` as plain text, whole, and live until the operation ends. A last line `--- the log breaks off here; ask again` says that it has not, as does the trailer `Matryoshka-Log-End: broken-off` (else `complete`). 429 when too many logs are followed.',
  params: clusterPath,
  query: z.object({
    namespace: namespaceSchema.optional(),
    follow: z.enum(['true', 'false']).optional().meta({ description: 'Whether to wait for more.' }),
  }),
  body: NO_BODY,
  answer: okSchema,
  text: 'text/plain',
  lenient: true,
  errors: [404],
  example: { params, answer: { code: 'OK', message: '10:00:00  node-1  Join  ok  1.2 s\n' } },
});

/** Kubernetes signs for ten minutes at least (kubernetes.io, CertificateSigningRequestSpec). */
const MIN_USER_SECONDS = 600;
const MAX_USER_SECONDS = 86_400;

export const getKubeconfig = route({
  operationId: 'getKubeconfig',
  method: 'GET',
  path: `${CLUSTER_PATH}/kubeconfig`,
  summary: 'A kubeconfig of a cluster: the administrator’s, or with expirationSeconds one of the caller',
  description:
    'As YAML; with `Accept: application/json` in the envelope. 409 while there is none. With `expirationSeconds`, the cluster signs a certificate for the name and groups of the caller; 503 if no API server of the cluster answers.',
  params: clusterPath,
  query: strictNamespaceQuery.extend({
    expirationSeconds: z.coerce
      .number()
      .int()
      .min(MIN_USER_SECONDS)
      .max(MAX_USER_SECONDS)
      .optional()
      .meta({ description: 'Seconds that the caller’s own kubeconfig is valid, from 600 to 86400.' }),
  }),
  body: NO_BODY,
  answer: okSchema,
  text: 'application/yaml',
  lenient: false,
  errors: [404, 409],
  example: { params, answer: { code: 'OK', message: 'apiVersion: v1\nkind: Config\n' } },
});
