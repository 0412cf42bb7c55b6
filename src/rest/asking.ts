import { z } from 'zod';
import { cidrsSchema } from '#api/cidr.ts';
import { drainSchema } from '#api/drain.ts';
import { kubeadmSchema } from '#api/kubeadm.ts';
import { endpointSchema, registrySchema, timeoutSchema, versionSchema } from '#api/kubernetes-cluster.ts';
import { operations } from '#operations/index.ts';
import type { Operation } from '#operations/operation.ts';
import type { EditRequest } from '#operations/request.ts';
import { addressed, agreedPlan, askingQuery, CLUSTER_PATH, clusterPath, hostsSchema } from './addressing.ts';
import { askedSchema } from './plan.ts';
import { route } from './route.ts';

const FIXED = 'It can never be changed.';
const FAMILIES =
  'For pods and Services of both families: an IPv4 and an IPv6 one, with a comma between them.';
const offered = <T extends string>(only: T) =>
  z
    .enum([only], { error: `is not offered; choose "${only}"` })
    .optional()
    .meta({ description: `Only "${only}" is offered, which is the default. ${FIXED}` });
const retrySchema = z
  .boolean()
  .optional()
  .meta({ description: 'Asks again for what failed; what the body leaves out stays as it is.' });

export const createBody = z
  .object({
    ...addressed,
    ...agreedPlan,
    timeoutMins: timeoutSchema
      .optional()
      .meta({ description: 'Deadline of one operation in minutes; default: "60".' }),
    clusterType: offered('kubernetes'),
    deployMode: offered('container'),
    podCIDR: cidrsSchema.optional().meta({ description: `Default: 10.244.0.0/16. ${FAMILIES} ${FIXED}` }),
    serviceCIDR: cidrsSchema.optional().meta({ description: `Default: 10.96.0.0/16. ${FAMILIES} ${FIXED}` }),
    masterList: hostsSchema.optional().meta({
      description:
        'Control plane hosts: 1, 3 or 5; up to 9 where etcdList names other hosts. Required without retry.',
    }),
    nodeList: hostsSchema.optional().meta({ description: 'Workers.' }),
    etcdList: hostsSchema.optional().meta({
      description:
        'Hosts for etcd: 1, 3 or 5, none of them in masterList. Left out, empty or equal to masterList: etcd on the control planes.',
    }),
    externalLoadBalancer: endpointSchema
      .optional()
      .meta({ description: 'Host or IP address in front of the API servers.' }),
    kubeVersion: versionSchema.optional().meta({ description: 'Default: the newest that is offered.' }),
    imagesRegistry: registrySchema
      .optional()
      .meta({ description: 'Registry that has all images directly below this path.' }),
    kubeadm: kubeadmSchema
      .optional()
      .meta({ description: 'Settings of components. Operation reconfigure changes them.' }),
    drain: drainSchema.optional().meta({ description: 'How nodes that leave later are drained.' }),
    privateSSHKey: z
      .string()
      .max(32_768)
      .optional()
      .meta({ description: 'PEM, or base64 of PEM; without a passphrase. It becomes a Secret.' }),
    credentialsSecret: z
      .string()
      .max(253)
      .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, { error: 'is not a name of a Secret' })
      .optional()
      .meta({ description: 'A Secret that you may get, instead of privateSSHKey.' }),
    retry: retrySchema,
  })
  .meta({ id: 'CreateCluster' });
export type CreateBody = z.infer<typeof createBody>;

const deleteBody = z
  .object({
    ...addressed,
    ...agreedPlan,
    retry: z.boolean().optional().meta({ description: 'Asks again for a deletion that failed.' }),
  })
  .optional()
  .meta({ id: 'DeleteCluster' });

const example = {
  params: { region: 'north', name: 'demo' },
  answer: { code: 'OK', message: 'success' },
} as const;
const base = { params: clusterPath, query: askingQuery, answer: askedSchema, lenient: true } as const;
const DRY_RUN = 'With `dryRun=All` it is planned and nothing is written.';
const [one, two] = [{ ip: '192.0.2.11' }, { ip: '192.0.2.12' }];

export const createCluster = route({
  ...base,
  operationId: 'createCluster',
  method: 'POST',
  path: CLUSTER_PATH,
  summary: 'Create a cluster',
  description: `Asks for a cluster on these hosts. 404 with "retry": true and no such cluster; 409 without it and one that exists. ${DRY_RUN}`,
  body: createBody,
  errors: [404, 409, 412, 413],
  example: { ...example, body: { masterList: [one], nodeList: [two], credentialsSecret: 'demo-keys' } },
});

export const deleteCluster = route({
  ...base,
  operationId: 'deleteCluster',
  method: 'DELETE',
  path: CLUSTER_PATH,
  summary: 'Delete a cluster: reset its hosts, then forget it',
  description: `Deleting a cluster that is being deleted is no error. ${DRY_RUN}`,
  body: deleteBody,
  errors: [404, 409, 412, 413],
  example: { ...example, body: { retry: true } },
});

/** Builds the route that requests an operation, from the operation's descriptor. */
function routeOf(operationId: string, { summary }: Operation, request: EditRequest) {
  const body = z
    .object({ ...addressed, ...agreedPlan, ...request.fields })
    .meta({ id: `${operationId[0]?.toUpperCase()}${operationId.slice(1)}` });
  return route({
    ...base,
    operationId,
    method: 'POST',
    path: `${CLUSTER_PATH}/${request.route}`,
    summary,
    description: `${request.description} ${DRY_RUN}`,
    body,
    errors: [404, 409, 412, 413],
    example: { ...example, body: request.example },
  });
}
const camel = (name: string): string =>
  name.replaceAll(/-([a-z])/g, (_all, letter: string) => letter.toUpperCase());

/** Operations with a separate request, each with its route. */
export const routesOfOperations = operations.flatMap((operation) => {
  const { request } = operation;
  return request ? [{ operation, route: routeOf(camel(operation.name), operation, request) }] : [];
});
