import { z } from 'zod';
import { cidrSchema } from '#api/cidr.ts';
import { endpointSchema, registrySchema, timeoutSchema, versionSchema } from '#api/kubernetes-cluster.ts';
import { addressed, CLUSTER_PATH, clusterPath, hostsSchema, namespaceQuery } from './addressing.ts';
import { okSchema } from './answers.ts';
import { route } from './route.ts';

const FIXED = 'It can never be changed.';
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
    timeoutMins: timeoutSchema
      .optional()
      .meta({ description: 'Deadline of one operation in minutes; default: "60".' }),
    clusterType: offered('kubernetes'),
    deployMode: offered('container'),
    podCIDR: cidrSchema.optional().meta({ description: `Default: 10.244.0.0/16. ${FIXED}` }),
    serviceCIDR: cidrSchema.optional().meta({ description: `Default: 10.96.0.0/16. ${FIXED}` }),
    masterList: hostsSchema
      .optional()
      .meta({ description: 'The control plane host; required at a creation.' }),
    nodeList: hostsSchema.optional().meta({ description: 'Workers.' }),
    etcdList: hostsSchema.optional().meta({ description: 'Left out, or equal to masterList.' }),
    externalLoadBalancer: endpointSchema
      .optional()
      .meta({ description: 'Host or IP address in front of the API servers.' }),
    kubeVersion: versionSchema.optional().meta({ description: 'Default: the newest that is offered.' }),
    imagesRegistry: registrySchema
      .optional()
      .meta({ description: 'A registry that has all images side by side.' }),
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

const nodeList = hostsSchema
  .optional()
  .meta({ description: 'The whole new list of workers; required without retry.' });
const scaleUpBody = z.object({ ...addressed, nodeList, retry: retrySchema }).meta({ id: 'ScaleUp' });
const scaleDownBody = z
  .object({
    ...addressed,
    nodeList,
    retry: retrySchema,
    allowEmpty: z.boolean().optional().meta({ description: 'Lets the list be empty: every worker goes.' }),
  })
  .meta({ id: 'ScaleDown' });
export type ScaleBody = z.infer<typeof scaleDownBody>;

const deleteBody = z
  .object({
    ...addressed,
    retry: z.boolean().optional().meta({ description: 'Asks again for a deletion that failed.' }),
  })
  .optional()
  .meta({ id: 'DeleteCluster' });

const example = {
  params: { region: 'north', name: 'demo' },
  answer: { code: 'OK', message: 'success' },
} as const;
const base = { params: clusterPath, query: namespaceQuery, answer: okSchema, lenient: true } as const;
const [one, two] = [{ ip: '192.0.2.11' }, { ip: '192.0.2.12' }];

export const createCluster = route({
  ...base,
  operationId: 'createCluster',
  method: 'POST',
  path: CLUSTER_PATH,
  summary: 'Make a cluster',
  description:
    'Asks for a cluster on these hosts. 404 with "retry": true and no such cluster; 409 without it and one that exists.',
  body: createBody,
  errors: [404, 409, 413],
  example: { ...example, body: { masterList: [one], nodeList: [two], credentialsSecret: 'demo-keys' } },
});

export const deleteCluster = route({
  ...base,
  operationId: 'deleteCluster',
  method: 'DELETE',
  path: CLUSTER_PATH,
  summary: 'Delete a cluster: reset its hosts, then forget it',
  description: 'Deleting a cluster that is being deleted is no error.',
  body: deleteBody,
  errors: [404, 409, 413],
  example: { ...example, body: { retry: true } },
});

export const scaleUp = route({
  ...base,
  operationId: 'scaleUp',
  method: 'POST',
  path: `${CLUSTER_PATH}/scaleup`,
  summary: 'Add workers',
  description: 'Takes the whole new list, with every present worker.',
  body: scaleUpBody,
  errors: [404, 409, 413],
  example: { ...example, body: { nodeList: [two, { ip: '192.0.2.13' }] } },
});

export const scaleDown = route({
  ...base,
  operationId: 'scaleDown',
  method: 'POST',
  path: `${CLUSTER_PATH}/scaledown`,
  summary: 'Remove workers',
  description: 'Takes the whole new list, a part of the present one.',
  body: scaleDownBody,
  errors: [404, 409, 413],
  example: { ...example, body: { nodeList: [two] } },
});
